//! The file trees that a new project is made from, and their rendering.
//!
//! The files lie in `templates/` and are part of the binary. Every one is a handlebars template;
//! nothing is escaped, since no output is HTML: values go through helpers instead. `json` writes a
//! string literal that JSON, TOML, JavaScript and Rust read alike, `markdown` text that Markdown
//! shows as it is, and `code` a code span.

use clap::ValueEnum;
use handlebars::{Handlebars, handlebars_helper};
use serde::Serialize;
use thiserror::Error;

/// Which tree to render.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Template {
    /// One small tool that answers with text.
    #[default]
    Tool,
    /// Tools that summarise a test report and attach the full file as an artifact.
    Artifacts,
}

/// Language of the events entrypoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Events {
    /// `events.mjs`: a JavaScript module, whatever surrounds it.
    #[default]
    Mjs,
    /// `events.js`, with a `package.json` that makes it a module.
    Js,
    /// `events.ts`: TypeScript whose types are erased when it is loaded.
    Ts,
}

impl Events {
    pub(crate) fn file_name(self) -> &'static str {
        match self {
            Events::Mjs => "events.mjs",
            Events::Js => "events.js",
            Events::Ts => "events.ts",
        }
    }
}

/// One file of a tree.
struct Source {
    /// Where the file goes, relative to the project.
    path: &'static str,
    content: Content,
}

enum Content {
    Template(&'static str),
    Verbatim(&'static str),
}

const fn template(path: &'static str, text: &'static str) -> Source {
    Source {
        path,
        content: Content::Template(text),
    }
}

const fn verbatim(path: &'static str, text: &'static str) -> Source {
    Source {
        path,
        content: Content::Verbatim(text),
    }
}

const COMMON: [Source; 7] = [
    template(
        ".gitignore",
        include_str!("../../templates/common/gitignore.hbs"),
    ),
    template(
        "AGENTS.md",
        include_str!("../../templates/common/AGENTS.md.hbs"),
    ),
    template(
        "Cargo.toml",
        include_str!("../../templates/common/Cargo.toml.hbs"),
    ),
    template(
        "agent.config.json",
        include_str!("../../templates/common/agent.config.json.hbs"),
    ),
    template(
        "extension.manifest.json",
        include_str!("../../templates/common/extension.manifest.json.hbs"),
    ),
    template(
        "odek.json",
        include_str!("../../templates/common/odek.json.hbs"),
    ),
    template(
        "playbooks/suggest-request.md",
        include_str!("../../templates/common/playbooks/suggest-request.md.hbs"),
    ),
];

const TOOL: [Source; 3] = [
    template(
        "README.md",
        include_str!("../../templates/tool/README.md.hbs"),
    ),
    template(
        "src/main.rs",
        include_str!("../../templates/tool/src/main.rs.hbs"),
    ),
    template(
        "tests/contract.rs",
        include_str!("../../templates/tool/tests/contract.rs.hbs"),
    ),
];

const ARTIFACTS: [Source; 5] = [
    template(
        "README.md",
        include_str!("../../templates/artifacts/README.md.hbs"),
    ),
    template(
        "src/main.rs",
        include_str!("../../templates/artifacts/src/main.rs.hbs"),
    ),
    template(
        "src/report.rs",
        include_str!("../../templates/artifacts/src/report.rs.hbs"),
    ),
    template(
        "tests/contract.rs",
        include_str!("../../templates/artifacts/tests/contract.rs.hbs"),
    ),
    verbatim(
        "tests/data/robot-xunit.xml",
        include_str!("../../templates/artifacts/tests/data/robot-xunit.xml"),
    ),
];

const EVENTS_MJS: [Source; 1] = [template(
    "events.mjs",
    include_str!("../../templates/events/events.js.hbs"),
)];

const EVENTS_JS: [Source; 2] = [
    template(
        "events.js",
        include_str!("../../templates/events/events.js.hbs"),
    ),
    template(
        "package.json",
        include_str!("../../templates/common/package.json.hbs"),
    ),
];

const EVENTS_TS: [Source; 2] = [
    template(
        "events.ts",
        include_str!("../../templates/events/events.ts.hbs"),
    ),
    template(
        "package.json",
        include_str!("../../templates/common/package.json.hbs"),
    ),
];

impl Template {
    fn sources(self) -> &'static [Source] {
        match self {
            Template::Tool => &TOOL,
            Template::Artifacts => &ARTIFACTS,
        }
    }
}

impl Events {
    fn sources(self) -> &'static [Source] {
        match self {
            Events::Mjs => &EVENTS_MJS,
            Events::Js => &EVENTS_JS,
            Events::Ts => &EVENTS_TS,
        }
    }
}

/// What the templates can name. A name that is missing here fails the rendering.
#[derive(Debug, Serialize)]
pub(crate) struct Values<'a> {
    pub(crate) name: &'a str,
    pub(crate) display_name: &'a str,
    pub(crate) agent_id: &'a str,
    /// Where the agent-extension runtime looks for the worker, relative to its workspace.
    pub(crate) package_directory: String,
    /// The dependency on the SDK, as the TOML value behind its name.
    pub(crate) sdk: String,
    /// The same for the emulated host.
    pub(crate) host: String,
    /// The version of the published crates.
    pub(crate) sdk_version: &'static str,
    /// Whether the dependencies name a directory of this machine.
    pub(crate) local_sdk: bool,
    /// Whether the manifest must cut itself off from a workspace above.
    pub(crate) opt_out: bool,
    /// Whether the tools read JUnit reports.
    pub(crate) junit: bool,
    /// Where cargo puts the binary, relative to the project.
    pub(crate) command: String,
    /// File name of the events entrypoint.
    pub(crate) events: &'static str,
    /// Whether a `package.json` says what kind of module the entrypoint is.
    pub(crate) package_json: bool,
}

/// A file to write, relative to the project.
#[derive(Debug)]
pub(crate) struct Rendered {
    pub(crate) path: &'static str,
    pub(crate) text: String,
}

/// Renders all files of a project, sorted by path.
///
/// # Errors
///
/// Fails when a template names a value that does not exist: a bug of this command, which the tests
/// of every combination rule out.
pub(crate) fn render(
    template: Template,
    events: Events,
    values: &Values<'_>,
) -> Result<Vec<Rendered>, RenderError> {
    let mut handlebars = Handlebars::new();
    handlebars.set_strict_mode(true);
    handlebars.register_escape_fn(handlebars::no_escape);
    handlebars.register_helper("json", Box::new(json));
    handlebars.register_helper("markdown", Box::new(markdown));
    handlebars.register_helper("code", Box::new(code));
    let mut files = Vec::new();
    for source in COMMON
        .iter()
        .chain(template.sources())
        .chain(events.sources())
    {
        let text = match source.content {
            Content::Verbatim(text) => text.to_owned(),
            Content::Template(text) => {
                handlebars
                    .render_template(text, values)
                    .map_err(|error| RenderError {
                        path: source.path,
                        error: Box::new(error),
                    })?
            }
        };
        files.push(Rendered {
            path: source.path,
            text,
        });
    }
    files.sort_by_key(|file| file.path);
    Ok(files)
}

handlebars_helper!(json: |text: str| serde_json::Value::from(text).to_string());
handlebars_helper!(markdown: |text: str| markdown_text(text));
handlebars_helper!(code: |text: str| code_span(text));

/// Puts a backslash before everything that means something within a line of Markdown.
fn markdown_text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        if "\\`*_[<&~#$".contains(letter) {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

/// A code span. Backslashes mean nothing in one; what ends it is a run of as many backticks as
/// begin it.
fn code_span(text: &str) -> String {
    let longest = text
        .split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    if text.starts_with('`') || text.ends_with('`') {
        format!("{fence} {text} {fence}")
    } else {
        format!("{fence}{text}{fence}")
    }
}

/// A template that cannot be rendered.
#[derive(Debug, Error)]
#[error("the template of `{path}` cannot be rendered: {error}")]
pub(crate) struct RenderError {
    path: &'static str,
    error: Box<handlebars::RenderError>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEMPLATES: [Template; 2] = [Template::Tool, Template::Artifacts];
    const EVENTS: [Events; 3] = [Events::Mjs, Events::Js, Events::Ts];

    fn values(events: Events) -> Values<'static> {
        Values {
            name: "log-analyzer",
            display_name: "Log \"the\" \\ <analyzer>",
            agent_id: "log-analyzer",
            package_directory: "agents/log-analyzer".to_owned(),
            sdk: "\"0.1.0\"".to_owned(),
            host: "{ path = \"../sdk/host\" }".to_owned(),
            sdk_version: "0.1.0",
            local_sdk: true,
            opt_out: true,
            junit: true,
            command: "target/debug/log-analyzer".to_owned(),
            events: events.file_name(),
            package_json: events != Events::Mjs,
        }
    }

    #[test]
    fn every_combination_renders_and_parses() {
        for template in TEMPLATES {
            for events in EVENTS {
                let files = render(template, events, &values(events)).unwrap();
                assert!(files.is_sorted_by(|a, b| a.path < b.path));
                assert!(files.iter().any(|file| file.path == events.file_name()));
                for file in files {
                    assert!(!file.text.contains("{{"), "{}", file.path);
                    assert!(file.text.ends_with('\n'), "{}", file.path);
                    if file.path.ends_with(".json") {
                        serde_json::from_str::<serde_json::Value>(&file.text).unwrap();
                    }
                    if file.path.ends_with(".toml") {
                        file.text.parse::<toml_edit::DocumentMut>().unwrap();
                    }
                }
            }
        }
    }

    #[test]
    fn values_keep_their_special_characters() {
        let files = render(Template::Tool, Events::Mjs, &values(Events::Mjs)).unwrap();
        let manifest = files
            .iter()
            .find(|file| file.path == "extension.manifest.json")
            .unwrap();
        let manifest: serde_json::Value = serde_json::from_str(&manifest.text).unwrap();
        assert_eq!(manifest["displayName"], "Log \"the\" \\ <analyzer>");
        let readme = files.iter().find(|file| file.path == "README.md").unwrap();
        let heading = readme.text.lines().next();
        assert_eq!(heading, Some(r#"# Log "the" \\ \<analyzer>"#));
    }

    #[test]
    fn code_spans_hold_any_text() {
        for (text, span) in [
            ("agents/x", "`agents/x`"),
            ("a`b``c", "```a`b``c```"),
            ("`a", "`` `a ``"),
            (r"a\b", r"`a\b`"),
        ] {
            assert_eq!(code_span(text), span);
        }
    }
}
