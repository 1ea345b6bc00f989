//! Execution budgets: how much a run may use, and how it ends when that is used up (contract,
//! Budget exit behavior).
//!
//! The rules are here; measuring what a run uses is not.

use std::fmt;
use std::process;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

mod limits;
mod shared;

pub use self::limits::{BudgetLimits, ModelPrice, Prices};
pub use self::shared::{EffectiveBudget, Headroom, SharedBudget};

/// The things of which a run has a budget, by the names in `budget_exceeded` events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BudgetLimit {
    /// Wall-clock time, in seconds.
    Runtime,
    /// Tool calls.
    ToolCalls,
    /// Input tokens of all model calls.
    InputTokens,
    /// Output tokens of all model calls.
    OutputTokens,
    /// Estimated cost, in US dollars.
    CostUsd,
}

impl BudgetLimit {
    /// All of them, in the contract's order.
    pub const ALL: [Self; 5] = [
        Self::Runtime,
        Self::ToolCalls,
        Self::InputTokens,
        Self::OutputTokens,
        Self::CostUsd,
    ];

    /// The name in events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Runtime => "runtime",
            Self::ToolCalls => "tool_calls",
            Self::InputTokens => "input_tokens",
            Self::OutputTokens => "output_tokens",
            Self::CostUsd => "cost_usd",
        }
    }

    const fn unit(self) -> &'static str {
        match self {
            Self::Runtime => "s",
            Self::ToolCalls => "calls",
            Self::InputTokens | Self::OutputTokens => "tokens",
            Self::CostUsd => "USD",
        }
    }
}

impl fmt::Display for BudgetLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for BudgetLimit {
    type Err = UnknownBudgetLimit;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|limit| limit.as_str() == name)
            .ok_or_else(|| UnknownBudgetLimit(name.to_owned()))
    }
}

/// A name that is no budget limit.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "unknown budget limit {0:?}; known are runtime, tool_calls, input_tokens, output_tokens, cost_usd"
)]
pub struct UnknownBudgetLimit(pub String);

/// An execution budget is used up. The host ends with [`ExitCode::BudgetExhausted`].
///
/// ```
/// use odek_contract::budget::{BudgetExceeded, BudgetLimit};
///
/// let error = BudgetExceeded { limit: BudgetLimit::Runtime, observed: 61.0, maximum: 60.0 };
/// assert_eq!(
///     error.to_string(),
///     "execution budget exhausted: runtime is at 61 s, the configured maximum is 60 s",
/// );
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[error(
    "execution budget exhausted: {limit} is at {observed} {unit}, the configured maximum is {maximum} {unit}",
    unit = limit.unit()
)]
pub struct BudgetExceeded {
    /// Which budget.
    pub limit: BudgetLimit,
    /// What was used, or for tool calls would be used, in the limit's unit.
    pub observed: f64,
    /// The configured maximum, in the same unit.
    pub maximum: f64,
}

/// How a run of the host ends, as its process exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ExitCode {
    /// The run ended well.
    Success = 0,
    /// A task, model or tool failed.
    Failure = 1,
    /// The run took longer than allowed in all (sub-agents).
    Timeout = 2,
    /// The set-up or the contract was wrong (sub-agents).
    Setup = 3,
    /// An execution budget is exhausted.
    BudgetExhausted = 4,
}

impl ExitCode {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 5] = [
        Self::Success,
        Self::Failure,
        Self::Timeout,
        Self::Setup,
        Self::BudgetExhausted,
    ];

    /// The number that the process exits with.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// The meaning of a number, if the contract gives it one.
    #[must_use]
    pub fn from_code(code: i32) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|known| i32::from(known.code()) == code)
    }
}

impl fmt::Display for ExitCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Success => "success",
            Self::Failure => "task, model or tool error",
            Self::Timeout => "overall timeout",
            Self::Setup => "setup or contract error",
            Self::BudgetExhausted => "execution budget exhausted",
        })
    }
}

impl From<ExitCode> for process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_events_in_every_direction() {
        for limit in BudgetLimit::ALL {
            assert_eq!(limit.as_str().parse(), Ok(limit));
            assert_eq!(
                serde_json::to_string(&limit).unwrap(),
                format!("{:?}", limit.as_str())
            );
        }
        assert!("cost".parse::<BudgetLimit>().is_err());
    }

    #[test]
    fn exit_codes_have_the_numbers_of_the_contract() {
        for (number, code) in (0..).zip(ExitCode::ALL) {
            assert_eq!(i32::from(code.code()), number);
            assert_eq!(ExitCode::from_code(number), Some(code));
        }
        assert_eq!(ExitCode::from_code(5), None);
        assert_eq!(ExitCode::from_code(-1), None);
        assert_eq!(
            ExitCode::BudgetExhausted.to_string(),
            "execution budget exhausted"
        );
    }

    #[test]
    fn the_error_names_limit_value_and_maximum() {
        let error = BudgetExceeded {
            limit: BudgetLimit::CostUsd,
            observed: 1.25,
            maximum: 1.0,
        };
        assert_eq!(
            error.to_string(),
            "execution budget exhausted: cost_usd is at 1.25 USD, the configured maximum is 1 USD"
        );
    }
}
