//! The settings in the parentheses of an attribute: `name = "…"`, `read_only`, `timeout = "25s"`.

use std::time::Duration;

use odek_contract::config::MAX_TIMEOUT_SECONDS;
use syn::{
    Error, Expr, ExprLit, Ident, Lit, LitStr, Result, Token,
    ext::IdentExt,
    parse::{Parse, ParseStream},
    punctuated::Punctuated,
};

use crate::{errors::Errors, names};

/// `key` or `key = value`.
pub(crate) struct Setting {
    pub(crate) key: Ident,
    pub(crate) value: Option<Expr>,
}

impl Parse for Setting {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let key = Ident::parse_any(input)?;
        let value = match input.parse::<Option<Token![=]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        Ok(Self { key, value })
    }
}

/// Settings between commas.
pub(crate) struct Settings(pub(crate) Vec<Setting>);

impl Parse for Settings {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let settings = Punctuated::<Setting, Token![,]>::parse_terminated(input)?;
        Ok(Self(settings.into_iter().collect()))
    }
}

impl Setting {
    /// The error for a key that does not exist.
    pub(crate) fn unknown(&self, known: &[&str]) -> Error {
        let key = self.key.to_string();
        let hint = match names::nearest(&key, known) {
            Some(candidate) => format!("did you mean `{candidate}`?"),
            None => format!("there are {}", listed(known)),
        };
        Error::new_spanned(&self.key, format!("unknown setting `{key}`; {hint}"))
    }

    /// The value as text.
    pub(crate) fn text(&self) -> Result<LitStr> {
        match &self.value {
            Some(Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            })) => Ok(text.clone()),
            _ => Err(self.wrong_value("is a text in quotes")),
        }
    }

    /// A text that says something.
    fn filled_text(&self) -> Result<String> {
        let text = self.text()?;
        match text.value().trim() {
            "" => Err(Error::new_spanned(
                &text,
                format!("`{}` is empty", self.key),
            )),
            filled => Ok(filled.to_owned()),
        }
    }

    /// A flag: the key alone, or `= true` or `= false`.
    pub(crate) fn flag(&self) -> Result<bool> {
        match &self.value {
            None => Ok(true),
            Some(Expr::Lit(ExprLit {
                lit: Lit::Bool(flag),
                ..
            })) => Ok(flag.value),
            Some(_) => Err(self.wrong_value("stands alone or is `true` or `false`")),
        }
    }

    fn wrong_value(&self, expected: &str) -> Error {
        let message = format!("`{}` {expected}", self.key);
        match &self.value {
            Some(value) => Error::new_spanned(value, message),
            None => Error::new_spanned(&self.key, message),
        }
    }

    fn duration(&self) -> Result<Duration> {
        let Ok(text) = self.text() else {
            return Err(self.wrong_value("is a text with a unit, such as \"25s\""));
        };
        parse_duration(&text.value())
            .map_err(|problem| Error::new_spanned(&text, format!("`timeout` {problem}")))
    }
}

fn listed(names: &[&str]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(", ")
}

/// A whole number of milliseconds, seconds, minutes or hours, above zero and at most what the
/// host ever waits.
fn parse_duration(text: &str) -> std::result::Result<Duration, String> {
    let digits = text.trim_end_matches(|character: char| character.is_ascii_alphabetic());
    let unit = &text[digits.len()..];
    let milliseconds = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => 0,
    };
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if milliseconds == 0 || !is_number {
        return Err(format!(
            "{text:?} is no duration; write a whole number and a unit (`ms`, `s`, `m` or `h`), \
             such as \"25s\""
        ));
    }
    // A number that does not fit is also beyond what the host waits.
    let total = digits
        .parse::<u64>()
        .ok()
        .and_then(|count| count.checked_mul(milliseconds));
    match total {
        Some(0) => Err("is zero, so that every call would fail; leave it out for no limit".into()),
        Some(total) if total <= MAX_TIMEOUT_SECONDS * 1_000 => Ok(Duration::from_millis(total)),
        _ => Err(format!(
            "is longer than the {MAX_TIMEOUT_SECONDS} s that the host waits at most, so it would \
             never apply"
        )),
    }
}

/// What stands in `#[odek_tool(…)]`.
#[derive(Default)]
pub(crate) struct ToolSettings {
    pub(crate) name: Option<LitStr>,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) read_only: Option<bool>,
    pub(crate) destructive: Option<bool>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) open_world: Option<bool>,
    pub(crate) timeout: Option<Duration>,
}

impl ToolSettings {
    const KNOWN: [&str; 8] = [
        "name",
        "title",
        "description",
        "read_only",
        "destructive",
        "idempotent",
        "open_world",
        "timeout",
    ];

    pub(crate) fn read(settings: &Settings, errors: &mut Errors) -> Self {
        let mut tool = Self::default();
        for setting in without_repetitions(settings, errors) {
            match setting.key.to_string().as_str() {
                "name" => tool.name = errors.take(setting.text()),
                "title" => tool.title = errors.take(setting.filled_text()),
                "description" => tool.description = errors.take(setting.filled_text()),
                "read_only" => tool.read_only = errors.take(setting.flag()),
                "destructive" => tool.destructive = errors.take(setting.flag()),
                "idempotent" => tool.idempotent = errors.take(setting.flag()),
                "open_world" => tool.open_world = errors.take(setting.flag()),
                "timeout" => tool.timeout = errors.take(setting.duration()),
                _ => errors.push(setting.unknown(&Self::KNOWN)),
            }
        }
        if let (Some(true), Some(true)) = (tool.read_only, tool.destructive)
            && let Some(setting) = settings
                .0
                .iter()
                .find(|setting| setting.key == "destructive")
        {
            errors.at(
                &setting.key,
                "a tool cannot be both `read_only` and `destructive`",
            );
        }
        tool
    }
}

/// Each setting once; a repeated one is an error at the repetition.
pub(crate) fn without_repetitions<'a>(
    settings: &'a Settings,
    errors: &mut Errors,
) -> Vec<&'a Setting> {
    let mut unique: Vec<&Setting> = Vec::new();
    for setting in &settings.0 {
        if unique.iter().any(|known| known.key == setting.key) {
            errors.at(&setting.key, format!("`{}` is given twice", setting.key));
        } else {
            unique.push(setting);
        }
    }
    unique
}

#[cfg(test)]
mod tests {
    use syn::parse_str;

    use super::*;

    fn read(text: &str) -> (ToolSettings, Vec<String>) {
        let mut errors = Errors::default();
        let settings = ToolSettings::read(&parse_str(text).unwrap(), &mut errors);
        (settings, errors.messages())
    }

    fn problems(text: &str) -> Vec<String> {
        read(text).1
    }

    #[test]
    fn all_settings_are_read() {
        let (settings, problems) = read(
            r#"name = "a", title = " T ", description = "D", read_only, destructive = false,
               idempotent = true, open_world = false, timeout = "25s","#,
        );
        assert_eq!(problems, [""; 0]);
        assert_eq!(settings.name.unwrap().value(), "a");
        assert_eq!(settings.title.as_deref(), Some("T"));
        assert_eq!(settings.description.as_deref(), Some("D"));
        assert_eq!(settings.read_only, Some(true));
        assert_eq!(settings.destructive, Some(false));
        assert_eq!(settings.idempotent, Some(true));
        assert_eq!(settings.open_world, Some(false));
        assert_eq!(settings.timeout, Some(Duration::from_secs(25)));
    }

    #[test]
    fn durations() {
        assert_eq!(parse_duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse_duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(parse_duration("1h"), Ok(Duration::from_secs(3600)));
        for text in [
            "", "25", "s", "2.5s", "-1s", "+1s", "25 s", "1d", "25S", "٣s", "1s1s",
        ] {
            let problem = parse_duration(text).unwrap_err();
            assert!(problem.contains("is no duration"), "{text}: {problem}");
        }
        assert!(parse_duration("0s").unwrap_err().starts_with("is zero"));
        for text in [
            "3601s",
            "2h",
            "99999999999999999999s",
            "18446744073709551615h",
        ] {
            let problem = parse_duration(text).unwrap_err();
            assert!(
                problem.starts_with("is longer than the 3600 s"),
                "{text}: {problem}"
            );
        }
    }

    #[test]
    fn mistakes_are_explained() {
        assert_eq!(
            problems("readonly"),
            ["unknown setting `readonly`; did you mean `read_only`?"]
        );
        assert_eq!(
            problems("schema = 3"),
            [
                "unknown setting `schema`; there are `name`, `title`, `description`, `read_only`, \
              `destructive`, `idempotent`, `open_world`, `timeout`"
            ]
        );
        assert_eq!(
            problems("timeout = 25"),
            ["`timeout` is a text with a unit, such as \"25s\""]
        );
        assert_eq!(
            problems("timeout"),
            ["`timeout` is a text with a unit, such as \"25s\""]
        );
        assert_eq!(
            problems("read_only = 1, name = x, title = \" \""),
            [
                "`read_only` stands alone or is `true` or `false`",
                "`name` is a text in quotes",
                "`title` is empty",
            ]
        );
        assert_eq!(
            problems("idempotent, idempotent"),
            ["`idempotent` is given twice"]
        );
        assert_eq!(
            problems("read_only, destructive"),
            ["a tool cannot be both `read_only` and `destructive`"]
        );
    }
}
