//! The configured limits and prices of a run.

use std::borrow::Cow;
use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::BudgetLimit;
use crate::raw::RawMembers;

/// The `limits` section of the host's configuration.
///
/// Zero and negative values mean "no limit" and "no price", as for the host; unknown fields are
/// kept and written back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BudgetLimits {
    /// The most wall-clock time of a run, in seconds.
    pub max_runtime_seconds: Option<i64>,
    /// The most tool calls of a run.
    pub max_tool_calls: Option<i64>,
    /// The most input tokens of a run.
    pub max_input_tokens: Option<i64>,
    /// The most output tokens of a run.
    pub max_output_tokens: Option<i64>,
    /// The highest estimated cost of a run, in US dollars. Without prices it has no effect.
    pub max_cost_usd: Option<f64>,
    /// The price of a million input tokens, in US dollars.
    pub input_cost_per_million_usd: Option<f64>,
    /// The price of a million output tokens, in US dollars.
    pub output_cost_per_million_usd: Option<f64>,
    /// Prices for single models, by the exact model id.
    pub model_prices: Option<BTreeMap<String, ModelPrice>>,
    /// Fields that this version does not know.
    pub unknown: RawMembers,
}

/// The prices of one model; a missing one falls back to the flat price.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelPrice {
    /// The price of a million input tokens, in US dollars.
    pub input_cost_per_million_usd: Option<f64>,
    /// The price of a million output tokens, in US dollars.
    pub output_cost_per_million_usd: Option<f64>,
    /// Fields that this version does not know.
    pub unknown: RawMembers,
}

/// The prices that apply to a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prices {
    /// The price of a million input tokens, in US dollars.
    pub input_per_million_usd: Option<f64>,
    /// The price of a million output tokens, in US dollars.
    pub output_per_million_usd: Option<f64>,
}

impl Prices {
    /// The cost of so many tokens, in US dollars; `None` unless both prices are known, since half
    /// an estimate would let a run pass its limit.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // an estimate
    pub fn estimate(&self, input_tokens: u64, output_tokens: u64) -> Option<f64> {
        const MILLION: f64 = 1_000_000.0;
        let input = self.input_per_million_usd? * input_tokens as f64;
        let output = self.output_per_million_usd? * output_tokens as f64;
        Some((input + output) / MILLION)
    }
}

impl BudgetLimits {
    /// The maximum of one limit, in its unit; `None` when it is not configured.
    #[must_use]
    #[allow(clippy::cast_precision_loss)] // far below 2^53 in practice, and compared only
    pub fn maximum(&self, limit: BudgetLimit) -> Option<f64> {
        let count = |value: Option<i64>| value.map(|value| value as f64);
        positive(match limit {
            BudgetLimit::Runtime => count(self.max_runtime_seconds),
            BudgetLimit::ToolCalls => count(self.max_tool_calls),
            BudgetLimit::InputTokens => count(self.max_input_tokens),
            BudgetLimit::OutputTokens => count(self.max_output_tokens),
            BudgetLimit::CostUsd => self.max_cost_usd,
        })
    }

    /// The prices for a model: its own where it has them, else the flat ones.
    #[must_use]
    pub fn prices_for(&self, model: &str) -> Prices {
        let own = self
            .model_prices
            .as_ref()
            .and_then(|prices| prices.get(model));
        let input = own.and_then(|own| positive(own.input_cost_per_million_usd));
        let output = own.and_then(|own| positive(own.output_cost_per_million_usd));
        Prices {
            input_per_million_usd: input.or(positive(self.input_cost_per_million_usd)),
            output_per_million_usd: output.or(positive(self.output_cost_per_million_usd)),
        }
    }
}

fn positive(value: Option<f64>) -> Option<f64> {
    value.filter(|value| *value > 0.0)
}

/// Takes an optional field; the error names it.
pub(super) fn field<T: DeserializeOwned, E: serde::de::Error>(
    members: &mut RawMembers,
    name: &'static str,
) -> Result<Option<T>, E> {
    members
        .take_typed(name)
        .map_err(|error| E::custom(format_args!("`{name}` has the wrong type: {error}")))
}

/// Writes a field if it is set, or else a `null` that stood in its place.
fn write<M: SerializeMap, T: Serialize>(
    map: &mut M,
    name: &'static str,
    value: Option<&T>,
    unknown: &RawMembers,
) -> Result<(), M::Error> {
    match (value, unknown.get(name)) {
        (Some(value), _) => map.serialize_entry(name, value),
        (None, Some(raw)) => map.serialize_entry(name, raw),
        (None, None) => Ok(()),
    }
}

fn write_rest<M: SerializeMap>(
    map: &mut M,
    known: &[&str],
    unknown: &RawMembers,
) -> Result<(), M::Error> {
    unknown
        .iter()
        .filter(|(name, _)| !known.contains(name))
        .try_for_each(|(name, value)| map.serialize_entry(name, value))
}

const MAX_RUNTIME_SECONDS: &str = "max_runtime_seconds";
const MAX_TOOL_CALLS: &str = "max_tool_calls";
const MAX_INPUT_TOKENS: &str = "max_input_tokens";
const MAX_OUTPUT_TOKENS: &str = "max_output_tokens";
const MAX_COST_USD: &str = "max_cost_usd";
const INPUT_COST: &str = "input_cost_per_million_usd";
const OUTPUT_COST: &str = "output_cost_per_million_usd";
const MODEL_PRICES: &str = "model_prices";

impl<'de> Deserialize<'de> for BudgetLimits {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = RawMembers::deserialize(deserializer)?;
        Ok(Self {
            max_runtime_seconds: field(&mut members, MAX_RUNTIME_SECONDS)?,
            max_tool_calls: field(&mut members, MAX_TOOL_CALLS)?,
            max_input_tokens: field(&mut members, MAX_INPUT_TOKENS)?,
            max_output_tokens: field(&mut members, MAX_OUTPUT_TOKENS)?,
            max_cost_usd: field(&mut members, MAX_COST_USD)?,
            input_cost_per_million_usd: field(&mut members, INPUT_COST)?,
            output_cost_per_million_usd: field(&mut members, OUTPUT_COST)?,
            model_prices: field(&mut members, MODEL_PRICES)?,
            unknown: members,
        })
    }
}

impl Serialize for BudgetLimits {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        const KNOWN: [&str; 8] = [
            MAX_RUNTIME_SECONDS,
            MAX_TOOL_CALLS,
            MAX_INPUT_TOKENS,
            MAX_OUTPUT_TOKENS,
            MAX_COST_USD,
            INPUT_COST,
            OUTPUT_COST,
            MODEL_PRICES,
        ];
        let unknown = &self.unknown;
        let mut map = serializer.serialize_map(None)?;
        let counts = [
            (MAX_RUNTIME_SECONDS, &self.max_runtime_seconds),
            (MAX_TOOL_CALLS, &self.max_tool_calls),
            (MAX_INPUT_TOKENS, &self.max_input_tokens),
            (MAX_OUTPUT_TOKENS, &self.max_output_tokens),
        ];
        for (name, value) in counts {
            write(&mut map, name, value.as_ref(), unknown)?;
        }
        let amounts = [
            (MAX_COST_USD, &self.max_cost_usd),
            (INPUT_COST, &self.input_cost_per_million_usd),
            (OUTPUT_COST, &self.output_cost_per_million_usd),
        ];
        for (name, value) in amounts {
            write(&mut map, name, value.as_ref(), unknown)?;
        }
        write(&mut map, MODEL_PRICES, self.model_prices.as_ref(), unknown)?;
        write_rest(&mut map, &KNOWN, unknown)?;
        map.end()
    }
}

impl<'de> Deserialize<'de> for ModelPrice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut members = RawMembers::deserialize(deserializer)?;
        Ok(Self {
            input_cost_per_million_usd: field(&mut members, INPUT_COST)?,
            output_cost_per_million_usd: field(&mut members, OUTPUT_COST)?,
            unknown: members,
        })
    }
}

impl Serialize for ModelPrice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let unknown = &self.unknown;
        let input = self.input_cost_per_million_usd.as_ref();
        let output = self.output_cost_per_million_usd.as_ref();
        let mut map = serializer.serialize_map(None)?;
        write(&mut map, INPUT_COST, input, unknown)?;
        write(&mut map, OUTPUT_COST, output, unknown)?;
        write_rest(&mut map, &[INPUT_COST, OUTPUT_COST], unknown)?;
        map.end()
    }
}

impl JsonSchema for ModelPrice {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "ModelPrice".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The prices of one model, in US dollars per million tokens; a missing one falls back to the flat price.",
            "type": "object",
            "properties": {
                INPUT_COST: { "type": "number" },
                OUTPUT_COST: { "type": "number" },
            },
        })
    }
}

impl JsonSchema for BudgetLimits {
    fn schema_name() -> Cow<'static, str> {
        "BudgetLimits".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let price = generator.subschema_for::<ModelPrice>();
        json_schema!({
            "description": "How much one run may use; zero means no limit.",
            "type": "object",
            "properties": {
                MAX_RUNTIME_SECONDS: { "type": "integer" },
                MAX_TOOL_CALLS: { "type": "integer" },
                MAX_INPUT_TOKENS: { "type": "integer" },
                MAX_OUTPUT_TOKENS: { "type": "integer" },
                MAX_COST_USD: { "type": "number" },
                INPUT_COST: { "type": "number" },
                OUTPUT_COST: { "type": "number" },
                MODEL_PRICES: { "type": "object", "additionalProperties": price },
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(text: &str) -> BudgetLimits {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn zero_and_negative_values_are_no_limits() {
        let limits = limits(r#"{"max_runtime_seconds":0,"max_tool_calls":-1,"max_cost_usd":0.5}"#);
        assert_eq!(limits.maximum(BudgetLimit::Runtime), None);
        assert_eq!(limits.maximum(BudgetLimit::ToolCalls), None);
        assert_eq!(limits.maximum(BudgetLimit::InputTokens), None);
        assert_eq!(limits.maximum(BudgetLimit::CostUsd), Some(0.5));
    }

    #[test]
    fn each_price_falls_back_by_itself() {
        let limits = limits(
            r#"{"input_cost_per_million_usd":1.0,"output_cost_per_million_usd":2.0,
                "model_prices":{"big":{"output_cost_per_million_usd":8.0},"free":{"input_cost_per_million_usd":0}}}"#,
        );
        let estimate = |model| limits.prices_for(model).estimate(1_000_000, 500_000);
        assert_eq!(estimate("other"), Some(2.0));
        assert_eq!(estimate("big"), Some(5.0));
        assert_eq!(estimate("free"), Some(2.0), "zero is no price");
        assert_eq!(estimate("Big"), Some(2.0), "ids are exact");
    }

    #[test]
    fn half_a_price_is_no_estimate() {
        let limits = limits(r#"{"input_cost_per_million_usd":1.0}"#);
        assert_eq!(limits.prices_for("m").estimate(1, 1), None);
    }

    #[test]
    fn unknown_fields_survive_a_round_trip() {
        let text = r#"{"max_runtime_seconds":60,"max_tool_calls":null,"max_cost_usd":1.5,"model_prices":{"m":{"input_cost_per_million_usd":2.0,"later":[1.0]}},"later":1e3}"#;
        assert_eq!(serde_json::to_string(&limits(text)).unwrap(), text);
    }

    #[test]
    fn the_error_names_the_field() {
        let error = serde_json::from_str::<BudgetLimits>(r#"{"max_tool_calls":"5"}"#)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("`max_tool_calls` has the wrong type: "),
            "{error}"
        );
    }
}
