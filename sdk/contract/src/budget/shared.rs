//! What a sub-agent may use of its parent's budget, and the check of a run against its limits.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::limits::field;
use super::{BudgetExceeded, BudgetLimit, BudgetLimits};
use crate::raw::RawMembers;

/// What is left of one budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Headroom<T> {
    /// The parent has no such limit.
    #[default]
    Unlimited,
    /// So much is left; always more than 0.
    Remaining(T),
    /// Nothing is left: a hard cap of 0.
    Exhausted,
}

/// The `budget` block of a sub-agent's task file, in share mode.
///
/// A remaining amount of 0 could mean "used up" or "not limited" there, so separate members
/// (`runtime_exhausted` and the like) say which. This type knows only the meaning: whatever
/// amount stands beside it, an exhausted flag is [`Headroom::Exhausted`]. Unknown fields are kept
/// and written back.
///
/// ```
/// use odek_contract::budget::{BudgetLimits, EffectiveBudget, Headroom, SharedBudget};
///
/// let shared: SharedBudget =
///     serde_json::from_str(r#"{"max_runtime_seconds":90,"tool_calls_exhausted":true}"#)?;
/// assert_eq!(shared.runtime_seconds, Headroom::Remaining(90));
/// assert_eq!(shared.cost_usd, Headroom::Unlimited);
///
/// let budget = EffectiveBudget::new(&BudgetLimits::default(), Some(&shared));
/// let error = budget.check_start().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "execution budget exhausted: tool_calls is at 0 calls, the configured maximum is 0 calls",
/// );
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SharedBudget {
    /// What is left of the run time, in seconds.
    pub runtime_seconds: Headroom<i64>,
    /// How many tool calls are left.
    pub tool_calls: Headroom<i64>,
    /// What is left of the cost, in US dollars.
    pub cost_usd: Headroom<f64>,
    /// Fields that this version does not know.
    pub unknown: RawMembers,
}

/// The maxima of one run: its own limits, lowered by what its parent has left.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EffectiveBudget {
    maxima: [Option<f64>; BudgetLimit::ALL.len()],
}

impl EffectiveBudget {
    /// The maxima for a run with these limits and, for a sub-agent in share mode, what its parent
    /// passed on.
    #[must_use]
    pub fn new(limits: &BudgetLimits, shared: Option<&SharedBudget>) -> Self {
        let maximum = |limit| {
            let own = limits.maximum(limit);
            let inherited = shared.and_then(|shared| shared.cap(limit));
            match (own, inherited) {
                (Some(own), Some(inherited)) => Some(own.min(inherited)),
                (own, inherited) => own.or(inherited),
            }
        };
        Self {
            maxima: BudgetLimit::ALL.map(maximum),
        }
    }

    /// The maximum of one limit, in its unit; `None` when there is none.
    #[must_use]
    pub fn maximum(&self, limit: BudgetLimit) -> Option<f64> {
        self.maxima[limit as usize]
    }

    /// Checks what a run has used of one budget. For tool calls, `observed` counts the calls that
    /// are about to start, and reaching the maximum is fine; every other budget is exhausted as
    /// soon as its maximum is reached.
    ///
    /// # Errors
    ///
    /// [`BudgetExceeded`] when the budget is exhausted.
    pub fn check(&self, limit: BudgetLimit, observed: f64) -> Result<(), BudgetExceeded> {
        let Some(maximum) = self.maximum(limit) else {
            return Ok(());
        };
        let within = match limit {
            BudgetLimit::ToolCalls => observed <= maximum,
            _ => observed < maximum,
        };
        if within {
            return Ok(());
        }
        Err(BudgetExceeded {
            limit,
            observed,
            maximum,
        })
    }

    /// Checks that a run may start at all: no budget is a hard cap of 0.
    ///
    /// # Errors
    ///
    /// [`BudgetExceeded`] for the first exhausted budget, in the order of [`BudgetLimit::ALL`].
    pub fn check_start(&self) -> Result<(), BudgetExceeded> {
        let exhausted = BudgetLimit::ALL
            .into_iter()
            .find(|limit| self.maximum(*limit) == Some(0.0));
        match exhausted {
            None => Ok(()),
            Some(limit) => Err(BudgetExceeded {
                limit,
                observed: 0.0,
                maximum: 0.0,
            }),
        }
    }
}

impl SharedBudget {
    /// The cap that the parent sets on a limit; 0 when its budget is exhausted.
    #[allow(clippy::cast_precision_loss)] // far below 2^53 in practice, and compared only
    fn cap(&self, limit: BudgetLimit) -> Option<f64> {
        fn count(left: Headroom<i64>) -> Headroom<f64> {
            match left {
                Headroom::Unlimited => Headroom::Unlimited,
                Headroom::Remaining(left) => Headroom::Remaining(left as f64),
                Headroom::Exhausted => Headroom::Exhausted,
            }
        }
        let left = match limit {
            BudgetLimit::Runtime => count(self.runtime_seconds),
            BudgetLimit::ToolCalls => count(self.tool_calls),
            BudgetLimit::CostUsd => self.cost_usd,
            BudgetLimit::InputTokens | BudgetLimit::OutputTokens => Headroom::Unlimited,
        };
        match left {
            Headroom::Unlimited => None,
            Headroom::Remaining(left) => Some(left.max(0.0)),
            Headroom::Exhausted => Some(0.0),
        }
    }
}

/// The two members that one budget has in the task file.
#[derive(Clone, Copy)]
struct Names {
    remaining: &'static str,
    exhausted: &'static str,
}

const RUNTIME: Names = Names {
    remaining: "max_runtime_seconds",
    exhausted: "runtime_exhausted",
};
const TOOL_CALLS: Names = Names {
    remaining: "max_tool_calls",
    exhausted: "tool_calls_exhausted",
};
const COST: Names = Names {
    remaining: "max_cost_usd",
    exhausted: "cost_exhausted",
};

impl Names {
    fn read<T, E>(self, members: &mut RawMembers) -> Result<Headroom<T>, E>
    where
        T: DeserializeOwned + PartialOrd + Default,
        E: serde::de::Error,
    {
        let remaining: Option<T> = field(members, self.remaining)?;
        let exhausted: Option<bool> = field(members, self.exhausted)?;
        Ok(match (exhausted, remaining) {
            (Some(true), _) => Headroom::Exhausted,
            (_, Some(remaining)) if remaining > T::default() => Headroom::Remaining(remaining),
            _ => Headroom::Unlimited,
        })
    }

    fn write<M: SerializeMap, T: Serialize>(
        self,
        map: &mut M,
        left: &Headroom<T>,
    ) -> Result<(), M::Error> {
        match left {
            Headroom::Unlimited => Ok(()),
            Headroom::Remaining(remaining) => map.serialize_entry(self.remaining, remaining),
            Headroom::Exhausted => map.serialize_entry(self.exhausted, &true),
        }
    }

    fn names(self, member: &str) -> bool {
        member == self.remaining || member == self.exhausted
    }
}

impl<'de> Deserialize<'de> for SharedBudget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = RawMembers::deserialize(deserializer)?;
        Ok(Self {
            runtime_seconds: RUNTIME.read(&mut members)?,
            tool_calls: TOOL_CALLS.read(&mut members)?,
            cost_usd: COST.read(&mut members)?,
            unknown: members,
        })
    }
}

impl Serialize for SharedBudget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        RUNTIME.write(&mut map, &self.runtime_seconds)?;
        TOOL_CALLS.write(&mut map, &self.tool_calls)?;
        COST.write(&mut map, &self.cost_usd)?;
        for (name, value) in self.unknown.iter() {
            let known = [RUNTIME, TOOL_CALLS, COST];
            if !known.iter().any(|names| names.names(name)) {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

impl JsonSchema for SharedBudget {
    fn schema_name() -> Cow<'static, str> {
        "SharedBudget".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "What a parent run has left for a sub-agent, in the task file.",
            "type": "object",
            "properties": {
                RUNTIME.remaining: { "type": "integer" },
                RUNTIME.exhausted: { "type": "boolean" },
                TOOL_CALLS.remaining: { "type": "integer" },
                TOOL_CALLS.exhausted: { "type": "boolean" },
                COST.remaining: { "type": "number" },
                COST.exhausted: { "type": "boolean" },
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(text: &str) -> SharedBudget {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_remaining_of_zero_is_unlimited_without_its_flag() {
        let shared = shared(
            r#"{"max_runtime_seconds":0,"max_tool_calls":0,"tool_calls_exhausted":true,"max_cost_usd":3}"#,
        );
        assert_eq!(shared.runtime_seconds, Headroom::Unlimited);
        assert_eq!(shared.tool_calls, Headroom::Exhausted);
        assert_eq!(shared.cost_usd, Headroom::Remaining(3.0));
    }

    #[test]
    fn the_flag_wins_over_an_amount() {
        let shared = shared(r#"{"max_runtime_seconds":5,"runtime_exhausted":true}"#);
        assert_eq!(shared.runtime_seconds, Headroom::Exhausted);
    }

    #[test]
    fn counts_are_written_as_integers_and_unknown_fields_kept() {
        let text = r#"{"max_runtime_seconds":60,"tool_calls_exhausted":true,"max_cost_usd":1.5,"later":{"a":1.0}}"#;
        assert_eq!(serde_json::to_string(&shared(text)).unwrap(), text);
    }

    #[test]
    fn the_lower_of_own_and_inherited_limit_holds() {
        let limits: BudgetLimits = serde_json::from_str(
            r#"{"max_runtime_seconds":60,"max_tool_calls":5,"max_input_tokens":100}"#,
        )
        .unwrap();
        let shared = shared(r#"{"max_runtime_seconds":90,"max_tool_calls":2,"max_cost_usd":0.5}"#);
        let budget = EffectiveBudget::new(&limits, Some(&shared));
        assert_eq!(budget.maximum(BudgetLimit::Runtime), Some(60.0));
        assert_eq!(budget.maximum(BudgetLimit::ToolCalls), Some(2.0));
        assert_eq!(budget.maximum(BudgetLimit::InputTokens), Some(100.0));
        assert_eq!(budget.maximum(BudgetLimit::OutputTokens), None);
        assert_eq!(budget.maximum(BudgetLimit::CostUsd), Some(0.5));
        assert_eq!(budget.check_start(), Ok(()));
    }

    #[test]
    fn an_exhausted_parent_is_a_hard_cap_of_zero() {
        let limits: BudgetLimits = serde_json::from_str(r#"{"max_tool_calls":5}"#).unwrap();
        let budget = EffectiveBudget::new(&limits, Some(&shared(r#"{"cost_exhausted":true}"#)));
        let error = budget.check_start().unwrap_err();
        assert_eq!((error.limit, error.maximum), (BudgetLimit::CostUsd, 0.0));
        assert!(budget.check(BudgetLimit::CostUsd, 0.0).is_err());
        assert!(budget.check(BudgetLimit::ToolCalls, 1.0).is_ok());
    }

    #[test]
    fn tool_calls_may_reach_their_maximum_and_the_rest_may_not() {
        let limits: BudgetLimits =
            serde_json::from_str(r#"{"max_runtime_seconds":60,"max_tool_calls":5}"#).unwrap();
        let budget = EffectiveBudget::new(&limits, None);
        assert!(budget.check(BudgetLimit::ToolCalls, 5.0).is_ok());
        assert!(budget.check(BudgetLimit::ToolCalls, 6.0).is_err());
        assert!(budget.check(BudgetLimit::Runtime, 59.9).is_ok());
        assert!(budget.check(BudgetLimit::Runtime, 60.0).is_err());
        assert!(budget.check(BudgetLimit::CostUsd, 1e9).is_ok());
    }
}
