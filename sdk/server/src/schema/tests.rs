use std::{
    collections::{BTreeMap, HashMap, HashSet},
    num::NonZeroI32,
    path::PathBuf,
    time::Duration,
};

use proptest::prelude::*;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;

/// The schema of a field of type `T`, alone in an arguments object.
fn field<T: JsonSchema>() -> Value {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Arguments<T> {
        value: T,
    }
    let mut schema = input_schema::<Arguments<T>>().unwrap();
    schema["properties"]["value"].take()
}

fn object<A: JsonSchema>() -> Value {
    Value::Object(input_schema::<A>().unwrap())
}

fn refused<A: JsonSchema>() -> String {
    input_schema::<A>().unwrap_err().to_string()
}

fn by_hand(schema: Value) -> Result<Value, String> {
    portable(schema)
        .map(Value::Object)
        .map_err(|error| error.to_string())
}

/// By hand, for a schema that is no object: as the property `value`, required.
fn property_by_hand(schema: Value) -> Result<Value, String> {
    let arguments = json!({
        "type": "object",
        "properties": {"value": schema},
        "required": ["value"],
    });
    by_hand(arguments).map(|mut schema| schema["properties"]["value"].take())
}

#[test]
fn primitive_types() {
    let integer = json!({"type": "integer"});
    let natural = json!({"type": "integer", "minimum": 0});
    let number = json!({"type": "number"});
    let string = json!({"type": "string"});
    assert_eq!(
        field::<u8>(),
        json!({"type": "integer", "minimum": 0, "maximum": 255})
    );
    assert_eq!(
        field::<i8>(),
        json!({"type": "integer", "minimum": -128, "maximum": 127})
    );
    assert_eq!(
        field::<u16>(),
        json!({"type": "integer", "minimum": 0, "maximum": 65535})
    );
    assert_eq!(
        field::<i16>(),
        json!({"type": "integer", "minimum": -32768, "maximum": 32767})
    );
    for schema in [
        field::<i32>(),
        field::<i64>(),
        field::<isize>(),
        field::<i128>(),
    ] {
        assert_eq!(schema, integer);
    }
    for schema in [
        field::<u32>(),
        field::<u64>(),
        field::<usize>(),
        field::<u128>(),
    ] {
        assert_eq!(schema, natural);
    }
    for schema in [
        field::<f32>(),
        field::<f64>(),
        field::<serde_json::Number>(),
    ] {
        assert_eq!(schema, number);
    }
    for schema in [field::<String>(), field::<Box<str>>(), field::<PathBuf>()] {
        assert_eq!(schema, string);
    }
    assert_eq!(field::<bool>(), json!({"type": "boolean"}));
    assert_eq!(
        field::<char>(),
        json!({"type": "string", "minLength": 1, "maxLength": 1})
    );
    assert_eq!(field::<()>(), json!({"type": "null"}));
    assert_eq!(field::<Value>(), json!({}));
    assert_eq!(
        field::<NonZeroI32>(),
        json!({"type": "integer", "description": "Must not be `0`."})
    );
    assert_eq!(
        field::<std::net::Ipv4Addr>(),
        json!({"type": "string", "format": "ipv4"})
    );
    assert_eq!(field::<std::net::IpAddr>(), string);
}

#[test]
fn containers() {
    assert_eq!(field::<Vec<u8>>()["type"], "array");
    assert_eq!(
        field::<Vec<String>>(),
        json!({"type": "array", "items": {"type": "string"}})
    );
    assert_eq!(
        field::<[f32; 2]>(),
        json!({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2})
    );
    assert_eq!(
        field::<[f32; 0]>(),
        json!({"type": "array", "items": {}, "maxItems": 0})
    );
    assert_eq!(
        field::<HashSet<bool>>(),
        json!({"type": "array", "items": {"type": "boolean"}, "uniqueItems": true})
    );
    assert_eq!(
        field::<HashMap<String, i32>>(),
        json!({"type": "object", "additionalProperties": {"type": "integer"}})
    );
    assert_eq!(
        field::<BTreeMap<u32, bool>>(),
        json!({"type": "object", "additionalProperties": {"type": "boolean"}})
    );
    assert_eq!(
        field::<BTreeMap<String, Value>>(),
        json!({"type": "object", "additionalProperties": {}})
    );
    assert_eq!(
        field::<(f64, f64)>(),
        json!({"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2})
    );
    assert_eq!(
        field::<(String, Vec<i32>)>(),
        json!({
            "type": "array",
            "items": {"anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "integer"}},
            ]},
            "minItems": 2,
            "maxItems": 2,
            "description": "Items in this order: string, array.",
        })
    );
    let natural = json!({"type": "integer", "minimum": 0});
    assert_eq!(
        field::<Duration>(),
        json!({
            "type": "object",
            "properties": {"secs": natural, "nanos": natural},
            "required": ["secs", "nanos"],
        })
    );
}

#[test]
fn options_are_plain_where_they_can_be_left_out_and_alternatives_elsewhere() {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Arguments {
        /// At most this many.
        limit: Option<u32>,
        tags: Vec<Option<String>>,
        mode: Option<Mode>,
        pair: Option<(String, i32)>,
        twice: Option<Option<bool>>,
        #[serde(default)]
        ratio: Option<f64>,
    }
    assert_eq!(
        object::<Arguments>(),
        json!({
            "type": "object",
            "properties": {
                "limit": {"type": "integer", "minimum": 0, "description": "At most this many."},
                "tags": {
                    "type": "array",
                    "items": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                },
                "mode": {"type": "string", "enum": ["fast", "full"]},
                "pair": {
                    "type": "array",
                    "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                    "minItems": 2,
                    "maxItems": 2,
                    "description": "Items in this order: string, integer.",
                },
                "twice": {"type": "boolean"},
                "ratio": {"type": "number"},
            },
            "required": ["tags"],
        })
    );
    assert_eq!(
        field::<Vec<Option<Mode>>>(),
        json!({
            "type": "array",
            "items": {"anyOf": [{"type": "string", "enum": ["fast", "full"]}, {"type": "null"}]},
        })
    );
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    Fast,
    Full,
}

#[test]
fn documented_enums_stay_one_enum() {
    /// How to search.
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Strategy {
        /// Skip binary files.
        TextOnly,
        /// Read everything,
        /// line by line.
        All,
    }
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Arguments {
        strategy: Strategy,
        /// What to do afterwards.
        then: Option<Strategy>,
    }
    let values = "- `text_only`: Skip binary files.\n- `all`: Read everything,\nline by line.";
    assert_eq!(
        object::<Arguments>()["properties"],
        json!({
            "strategy": {
                "type": "string",
                "enum": ["text_only", "all"],
                "description": format!("How to search.\n{values}"),
            },
            "then": {
                "type": "string",
                "enum": ["text_only", "all"],
                "description": format!("What to do afterwards.\nHow to search.\n{values}"),
            },
        })
    );
}

#[test]
fn partly_documented_enums_keep_all_values() {
    #[derive(Deserialize, JsonSchema)]
    enum Level {
        Low,
        /// Only for releases.
        High,
        Middle,
    }
    let schema = field::<Level>();
    let mut values: Vec<_> = schema["enum"].as_array().unwrap().iter().collect();
    values.sort_by_key(|value| value.to_string());
    assert_eq!(values, ["High", "Low", "Middle"]);
    assert_eq!(schema["description"], "- `High`: Only for releases.");
    assert_eq!(schema["type"], "string");
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code)]
struct Circle {
    radius: f64,
}

#[test]
fn externally_tagged_enums() {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    enum Shape {
        Circle(Circle),
        Square { side: f64 },
        Point,
        Pair(i32, i32),
    }
    let integer = json!({"type": "integer"});
    let circle = json!({
        "type": "object",
        "properties": {"radius": {"type": "number"}},
        "required": ["radius"],
    });
    let square = json!({
        "type": "object",
        "properties": {"side": {"type": "number"}},
        "required": ["side"],
    });
    let pair = json!({"type": "array", "items": integer, "minItems": 2, "maxItems": 2});
    assert_eq!(
        field::<Shape>(),
        json!({"anyOf": [
            {"type": "string", "enum": ["Point"]},
            {"type": "object", "properties": {"Circle": circle}, "required": ["Circle"]},
            {"type": "object", "properties": {"Square": square}, "required": ["Square"]},
            {"type": "object", "properties": {"Pair": pair}, "required": ["Pair"]},
        ]})
    );
    assert_eq!(
        refused::<Shape>(),
        "the arguments: the arguments of a tool are one object, but this type has alternatives, \
         as an enum does; make it a field of a struct"
    );
}

#[test]
fn internally_tagged_enums() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "kind")]
    #[allow(dead_code)]
    enum Shape {
        /// Round.
        Circle(Circle),
        Square {
            side: f64,
        },
        Point,
    }
    let tag = |name: &str| json!({"type": "string", "enum": [name]});
    let number = json!({"type": "number"});
    assert_eq!(
        field::<Shape>(),
        json!({"anyOf": [
            {
                "type": "object",
                "description": "Round.",
                "properties": {"kind": tag("Circle"), "radius": number},
                "required": ["kind", "radius"],
            },
            {
                "type": "object",
                "properties": {"kind": tag("Square"), "side": number},
                "required": ["kind", "side"],
            },
            {"type": "object", "properties": {"kind": tag("Point")}, "required": ["kind"]},
        ]})
    );
}

#[test]
fn adjacently_tagged_enums() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "kind", content = "value")]
    #[allow(dead_code)]
    enum Shape {
        Circle(Circle),
        Point,
    }
    assert_eq!(
        field::<Shape>(),
        json!({"anyOf": [
            {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": ["Circle"]},
                    "value": {
                        "type": "object",
                        "properties": {"radius": {"type": "number"}},
                        "required": ["radius"],
                    },
                },
                "required": ["kind", "value"],
            },
            {
                "type": "object",
                "properties": {"kind": {"type": "string", "enum": ["Point"]}},
                "required": ["kind"],
            },
        ]})
    );
}

#[test]
fn untagged_enums() {
    #[derive(Deserialize, JsonSchema)]
    #[serde(untagged)]
    #[allow(dead_code)]
    enum Selector {
        Index(u8),
        Name(String),
        Mode(Mode),
        Nothing,
    }
    assert_eq!(
        field::<Selector>(),
        json!({"anyOf": [
            {"type": "integer", "minimum": 0, "maximum": 255},
            {"type": "string"},
            {"type": "string", "enum": ["fast", "full"]},
            {"type": "null"},
        ]})
    );
}

#[test]
fn structs_follow_their_serde_attributes() {
    /// Where to look.
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Scope {
        root: PathBuf,
    }
    #[derive(Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[allow(dead_code)]
    struct Arguments {
        #[serde(rename = "where", alias = "in")]
        scope: Scope,
        #[serde(default = "ten")]
        max_hits: u32,
        #[serde(default)]
        deep: bool,
        #[serde(skip)]
        cache: Vec<String>,
        transparent: Wrapper,
    }
    #[derive(Deserialize, JsonSchema)]
    #[serde(transparent)]
    #[allow(dead_code)]
    struct Wrapper(String);
    fn ten() -> u32 {
        10
    }
    assert_eq!(
        object::<Arguments>(),
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "where": {
                    "type": "object",
                    "description": "Where to look.",
                    "properties": {"root": {"type": "string"}},
                    "required": ["root"],
                },
                "maxHits": {"type": "integer", "minimum": 0, "default": 10},
                "deep": {"type": "boolean", "default": false},
                "transparent": {"type": "string"},
            },
            "required": ["where", "transparent"],
        })
    );
}

#[test]
fn flattened_structs_merge() {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Page {
        offset: Option<u8>,
        limit: bool,
    }
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Arguments {
        query: String,
        #[serde(flatten)]
        page: Page,
    }
    assert_eq!(
        object::<Arguments>(),
        json!({
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "offset": {"type": "integer", "minimum": 0, "maximum": 255},
                "limit": {"type": "boolean"},
            },
            "required": ["query", "limit"],
        })
    );
}

#[test]
fn a_flattened_enum_spreads_over_the_alternatives() {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Figure {
        name: String,
        #[serde(flatten)]
        shape: Shape,
    }
    #[derive(Deserialize, JsonSchema)]
    #[serde(tag = "kind")]
    #[allow(dead_code)]
    enum Shape {
        Circle(Circle),
        Point,
    }
    let name = json!({"type": "string"});
    assert_eq!(
        field::<Figure>(),
        json!({"anyOf": [
            {
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": ["Circle"]},
                    "radius": {"type": "number"},
                    "name": name,
                },
                "required": ["kind", "radius", "name"],
            },
            {
                "type": "object",
                "properties": {"kind": {"type": "string", "enum": ["Point"]}, "name": name},
                "required": ["kind", "name"],
            },
        ]})
    );
    assert!(refused::<Figure>().contains("has alternatives"));
}

#[test]
fn types_that_contain_themselves_are_refused_with_the_field() {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Node {
        child: Option<Box<Node>>,
    }
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Arguments {
        forest: HashMap<String, Vec<Node>>,
    }
    let reason = "the type `Node` contains itself, and model providers need schemas without \
                  references; take the nested part as a list, or as text that the function parses";
    assert_eq!(refused::<Node>(), format!("field `child`: {reason}"));
    assert_eq!(
        refused::<Arguments>(),
        format!("field `forest.*[].child`: {reason}")
    );
}

#[test]
fn types_that_are_no_object_are_refused() {
    let refused_as = |error: String, found: &str| {
        assert_eq!(
            error,
            format!(
                "the arguments: the arguments of a tool are an object, but this type is {found}; \
                 make it a field of a struct"
            )
        );
    };
    refused_as(refused::<String>(), "text");
    refused_as(refused::<u8>(), "a number");
    refused_as(refused::<Vec<u8>>(), "a list");
    refused_as(refused::<bool>(), "a boolean");
    refused_as(
        refused::<()>(),
        "null, as `()` and structs without fields are",
    );
    refused_as(refused::<Mode>(), "text");
    assert_eq!(
        object::<Value>(),
        json!({"type": "object", "properties": {}})
    );
    assert_eq!(
        object::<HashMap<String, bool>>(),
        json!({
            "type": "object",
            "properties": {},
            "additionalProperties": {"type": "boolean"},
        })
    );
}

#[test]
fn property_names_that_the_host_removes_are_refused() {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Arguments {
        nested: Nested,
    }
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Nested {
        #[serde(rename = "größe")]
        size: u32,
    }
    assert_eq!(
        refused::<Arguments>(),
        "field `nested`: the property name \"größe\" would be removed by the host, which keeps \
         names of 1 to 64 bytes from ASCII letters, digits and `_ . $ @ : -`; rename the field"
    );
    let long = "x".repeat(65);
    assert!(by_hand(json!({"properties": {long: {}}})).is_err());
    let allowed = format!("a_.$@:-9{}", "x".repeat(56));
    assert!(by_hand(json!({"properties": {allowed: {}}})).is_ok());
}

#[test]
fn enums_without_variants_are_refused() {
    #[derive(Deserialize, JsonSchema)]
    enum Never {}
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Arguments {
        never: Never,
    }
    assert_eq!(
        refused::<Arguments>(),
        "field `never`: no value is ever accepted here, as with an enum that has no variants"
    );
}

#[test]
fn references_are_inlined() {
    assert_eq!(
        by_hand(json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "https://example.com/search",
            "title": "Search",
            "type": "object",
            "properties": {
                "from": {"$ref": "#/$defs/Place%20name", "description": "Where to start."},
                "to": {"allOf": [{"$ref": "#/$defs/Place%20name"}]},
            },
            "$defs": {"Place name": {"type": "string", "description": "A place.", "minLength": 1}},
        })),
        Ok(json!({
            "type": "object",
            "description": "Search",
            "properties": {
                "from": {
                    "type": "string",
                    "minLength": 1,
                    "description": "Where to start.\nA place.",
                },
                "to": {"type": "string", "minLength": 1, "description": "A place."},
            },
        }))
    );
    for reference in ["#/$defs/missing", "https://example.com/other", "#anchor"] {
        assert_eq!(
            property_by_hand(json!({"$ref": reference})),
            Err(format!(
                "field `value`: the reference {reference:?} leads to no schema in this document"
            ))
        );
    }
    assert!(
        property_by_hand(json!({"type": "array", "items": {"$ref": "#"}}))
            .unwrap_err()
            .starts_with("field `value[]`: the type `#` contains itself")
    );
}

#[test]
fn several_types_become_alternatives() {
    assert_eq!(
        property_by_hand(json!({
            "type": ["string", "integer", "null"],
            "description": "Name or number.",
            "minLength": 1,
            "minimum": 0,
        })),
        Ok(json!({
            "description": "Name or number.",
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "integer", "minimum": 0},
                {"type": "null"},
            ],
        }))
    );
    assert_eq!(
        property_by_hand(json!({"type": "string", "nullable": true, "default": "x"})),
        Ok(json!({"default": "x", "anyOf": [{"type": "string"}, {"type": "null"}]}))
    );
    assert_eq!(
        property_by_hand(json!({"enum": ["a", 1, "b", null, 2.5, "a"]})),
        Ok(json!({"anyOf": [
            {"type": "string", "enum": ["a", "b"]},
            {"type": "integer", "enum": [1]},
            {"type": "number", "enum": [2.5]},
            {"type": "null"},
        ]}))
    );
}

#[test]
fn keywords_are_reduced() {
    assert_eq!(
        property_by_hand(json!({
            "type": "string",
            "format": "date-time",
            "title": "When",
            "examples": ["2026-01-01T00:00:00Z"],
            "x-widget": "calendar",
            "$comment": "internal",
        })),
        Ok(json!({
            "type": "string",
            "format": "date-time",
            "description": "When\nFor example `2026-01-01T00:00:00Z`.",
        }))
    );
    assert_eq!(
        property_by_hand(json!({"const": "only"})),
        Ok(json!({"type": "string", "enum": ["only"]}))
    );
    assert_eq!(property_by_hand(json!(true)), Ok(json!({})));
    assert_eq!(
        property_by_hand(json!({"type": "array"})),
        Ok(json!({"type": "array", "items": {}}))
    );
    assert_eq!(
        property_by_hand(json!({"type": "object", "required": ["a"]})),
        Ok(json!({"type": "object", "properties": {"a": {}}, "required": ["a"]}))
    );
    assert_eq!(
        property_by_hand(json!({"minimum": 1})),
        Ok(json!({"type": "number", "minimum": 1}))
    );
    assert_eq!(
        property_by_hand(json!({"type": "array", "prefixItems": [{"type": "string"}]})),
        Ok(json!({
            "type": "array",
            "items": {"anyOf": [{"type": "string"}, {}]},
            "description": "Items in this order: string.",
        }))
    );
}

#[test]
fn what_has_no_portable_form_is_refused() {
    let cases = [
        (
            json!({"if": {}}),
            "the keyword `if` is not understood by every model provider; remove it",
        ),
        (
            json!({"not": {"type": "string"}}),
            "the keyword `not` is not understood",
        ),
        (
            json!({"propertyNames": {}}),
            "the keyword `propertyNames` is not understood",
        ),
        (json!(false), "no value is ever accepted here"),
        (json!({"enum": []}), "no value is ever accepted here"),
        (
            json!({"type": "strnig"}),
            "`type` is not a valid schema keyword value: \"strnig\"",
        ),
        (
            json!({"minimum": "1"}),
            "`minimum` is not a valid schema keyword value: \"1\"",
        ),
        (
            json!({"properties": []}),
            "`properties` is not a valid schema keyword value: []",
        ),
        (
            json!("text"),
            "`schema` is not a valid schema keyword value: \"text\"",
        ),
        (
            json!({"allOf": [{"type": "string"}, {"type": "integer"}]}),
            "two parts of this schema disagree about `type`",
        ),
        (
            json!({
                "allOf": [{"properties": {"a": {}}}, {"properties": {"a": {"type": "string"}}}],
            }),
            "the property `a` is declared twice",
        ),
        (
            json!({
                "additionalProperties": false,
                "allOf": [{"properties": {"a": {}}}],
            }),
            "this struct refuses unknown fields",
        ),
        (
            json!({
                "anyOf": [{"type": "string"}, {"type": "integer"}],
                "oneOf": [{"minLength": 2}, {"minimum": 2}],
            }),
            "two sets of alternatives apply to the same value",
        ),
    ];
    for (schema, reason) in cases {
        let error = property_by_hand(schema.clone()).unwrap_err();
        let expected = format!("field `value`: {reason}");
        assert!(
            error.starts_with(&expected),
            "{schema}\n {error}\n {expected}"
        );
    }
}

#[test]
fn stricter_bounds_win_when_parts_merge() {
    assert_eq!(
        property_by_hand(json!({
            "allOf": [
                {"type": "number", "minimum": 1, "maximum": 9},
                {"type": "integer", "minimum": 2, "maximum": 20},
            ],
        })),
        Ok(json!({"type": "integer", "minimum": 2, "maximum": 9}))
    );
}

#[test]
fn oversize_schemas_are_refused() {
    let description = "&".repeat(50_000);
    let error = by_hand(json!({"properties": {"a": {"description": description}}})).unwrap_err();
    assert!(
        error.contains("above the 262144 at which the host skips the tool"),
        "{error}"
    );
}

#[test]
fn converting_again_changes_nothing() {
    #[derive(Deserialize, JsonSchema)]
    #[allow(dead_code)]
    struct Arguments {
        modes: Vec<Option<Mode>>,
        pair: (String, bool),
        circle: Option<Circle>,
        labels: HashMap<String, u8>,
        zero: NonZeroI32,
    }
    let once = object::<Arguments>();
    assert_eq!(by_hand(once.clone()), Ok(once));
}

/// Panics when a schema holds anything but what every provider reads.
fn assert_portable(schema: &Value) {
    const KEYWORDS: [&str; 23] = [
        "type",
        "description",
        "default",
        "enum",
        "anyOf",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "format",
        "pattern",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
        "uniqueItems",
    ];
    let Value::Object(schema) = schema else {
        panic!("not an object: {schema}");
    };
    for (keyword, value) in schema {
        assert!(KEYWORDS.contains(&keyword.as_str()), "{keyword}");
        match keyword.as_str() {
            "type" => assert!(value.is_string(), "{value}"),
            "properties" => value
                .as_object()
                .unwrap()
                .values()
                .for_each(assert_portable),
            "anyOf" => {
                let alternatives = value.as_array().unwrap();
                assert!(alternatives.len() > 1, "{alternatives:?}");
                alternatives.iter().for_each(assert_portable);
            }
            "additionalProperties" if *value == Value::Bool(false) => {}
            "items" | "additionalProperties" => assert_portable(value),
            _ => {}
        }
    }
    let declared = schema.get("properties").and_then(Value::as_object);
    for name in schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let name = name.as_str().unwrap();
        assert!(declared.unwrap().contains_key(name), "{name}");
    }
}

/// Schemas as people write them: known keywords, mostly with values that fit.
fn any_schema() -> impl Strategy<Value = Value> {
    let names = || prop::sample::select(vec!["a", "b"]);
    let types = || {
        prop::sample::select(vec![
            "string", "integer", "number", "boolean", "array", "object", "null",
        ])
    };
    let leaf = prop_oneof![
        Just(json!(true)),
        Just(json!({})),
        types().prop_map(|name| json!({"type": name, "description": "d", "title": "t"})),
        (types(), types()).prop_map(|(one, other)| json!({"type": [one, other], "minLength": 1})),
        prop::collection::vec(
            prop_oneof![Just(json!("x")), Just(json!(1)), Just(json!(null))],
            0..4
        )
        .prop_map(|values| json!({"enum": values})),
        Just(json!({"const": "y", "description": "why"})),
        Just(json!({"type": "integer", "format": "uint8", "minimum": 0, "default": null})),
        Just(json!({"$ref": "#/$defs/known"})),
        Just(json!({"type": "string", "nullable": true, "not": {"const": ""}})),
    ];
    leaf.prop_recursive(4, 24, 3, move |inner| {
        let several = || prop::collection::vec(inner.clone(), 0..3);
        prop_oneof![
            several().prop_map(|schemas| json!({"anyOf": schemas})),
            several().prop_map(|schemas| json!({"oneOf": schemas, "description": "o"})),
            several().prop_map(|schemas| json!({"allOf": schemas})),
            several().prop_map(|schemas| json!({"type": "array", "prefixItems": schemas})),
            inner
                .clone()
                .prop_map(|schema| json!({"type": "array", "items": schema})),
            inner
                .clone()
                .prop_map(|schema| json!({"additionalProperties": schema})),
            (names(), inner.clone(), names(), inner.clone()).prop_map(
                |(one, first, other, second)| json!({
                    "properties": {one: first, other: second},
                    "required": [one],
                })
            ),
            (names(), inner.clone(), several()).prop_map(|(name, schema, parts)| json!({
                "type": "object",
                "properties": {name: schema},
                "anyOf": parts,
                "unevaluatedProperties": false,
            })),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_converted_is_portable_and_stays_as_it_is(value in any_schema()) {
        let schema = json!({
            "type": "object",
            "properties": {"value": value},
            "required": ["value", "undeclared"],
            "$defs": {"known": {"type": "string", "enum": ["x", "z"], "description": "k"}},
        });
        if let Ok(once) = by_hand(schema) {
            assert_portable(&once);
            prop_assert_eq!(by_hand(once.clone()), Ok(once));
        }
    }
}
