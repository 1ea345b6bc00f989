//! The book's code blocks, compiled: `cargo test -p odek-docs` fails on one that does not build.
//!
//! Every page is the documentation of an empty module, so that the documentation tests pick up its
//! code blocks; JSON blocks are read by the type that they are an example of. There is nothing to
//! use here.

/// The documentation tests of the pages, and their texts.
macro_rules! pages {
    ($($name:ident: $path:literal),* $(,)?) => {
        $(
            #[doc = include_str!($path)]
            pub mod $name {}
        )*

        #[cfg(test)]
        const PAGES: &[(&str, &str)] = &[$(($path, include_str!($path))),*];
    };
}

pages! {
    readme: "../README.md",
    quick_start: "quick-start.md",
    writing_tools: "writing-tools.md",
    results_and_artifacts: "results-and-artifacts.md",
    running_under_odek: "running-under-odek.md",
    architecture: "architecture.md",
    benchmarks: "benchmarks.md",
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use odek_contract::{
        config::{Effective, OdekConfig},
        names::ServerName,
    };

    use super::PAGES;

    /// The contents of the blocks that are fenced as `language`.
    fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
        let opening = format!("\n```{language}\n");
        page.split(&opening)
            .skip(1)
            .filter_map(|rest| rest.split("\n```").next())
            .collect()
    }

    #[test]
    fn configurations_are_ones_that_the_host_takes_without_a_word() {
        let mut read = 0;
        for (path, page) in PAGES {
            for block in blocks(page, "json") {
                let config = OdekConfig::from_json(block.as_bytes())
                    .unwrap_or_else(|error| panic!("{path}: {error}"));
                for (name, server) in &config.servers {
                    ServerName::new(name.as_str()).unwrap();
                    match server.effective(name, |_| None).unwrap() {
                        Effective::Enabled { warnings, .. } => assert_eq!(warnings, [], "{path}"),
                        Effective::Disabled => panic!("{path}: {name} is disabled"),
                    }
                    read += 1;
                }
            }
        }
        assert!(read > 0, "no page shows a configuration");
    }

    #[test]
    fn links_between_pages_lead_somewhere() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (path, page) in PAGES {
            let base = folder.join(path);
            let base = base.parent().unwrap();
            for link in page
                .split("](")
                .skip(1)
                .filter_map(|rest| rest.split(')').next())
            {
                let file = link.split('#').next().unwrap_or_default();
                if !file.is_empty() && !file.contains("://") {
                    assert!(base.join(file).exists(), "{path} links to {link}");
                }
            }
        }
    }
}
