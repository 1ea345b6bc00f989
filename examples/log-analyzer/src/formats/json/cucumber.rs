//! The JSON of the Cucumber family: features, their scenarios, their steps.

use super::pull::{Event, Pull};
use super::{End, Report, duration};
use crate::formats::findings::{Findings, Tally};
use crate::formats::xml::case::Gathered;
use crate::model::{Sink, Status};

/// Nanoseconds in a second.
const NANOSECONDS: f64 = 1e9;

/// A report in the making.
#[derive(Default)]
pub(super) struct Cucumber {
    tally: Tally,
    feature: String,
    test: Gathered,
    background: bool,
    /// The worst that happened in a step or hook.
    worst: Worst,
    background_worst: Worst,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worst {
    #[default]
    Passed,
    Skipped,
    Failed,
}

impl Report for Cucumber {
    fn piece(&mut self, pull: &Pull<'_>, event: Event, sink: &mut dyn Sink) {
        match pull.depth() {
            1 if event == Event::Close => self.feature.clear(),
            2 if pull.key() == "name" => {
                if let Event::Text(text) = event {
                    self.feature = text;
                }
            }
            3 if event == Event::Close && pull.at(&["*", "elements", "*"]) => {
                self.end_scenario(sink);
            }
            4 if pull.at(&["*", "elements", "*", "*"]) => match (pull.key(), event) {
                ("name", Event::Text(text)) => self.test.name = text,
                ("type", Event::Text(text)) => self.background = text == "background",
                _ => {}
            },
            7 | 8 if pull.ends(&["result", "*"]) => self.result(pull.key(), event),
            _ => {}
        }
    }

    fn finish(self: Box<Self>, _: End, _: &mut dyn Sink, findings: &mut Findings) {
        findings.add(self.tally.0);
    }
}

impl Cucumber {
    fn result(&mut self, key: &str, event: Event) {
        match (key, event) {
            ("status", Event::Text(status)) => {
                self.worst = self.worst.max(match status.to_ascii_lowercase().as_str() {
                    "passed" => Worst::Passed,
                    "skipped" | "pending" | "untested" => Worst::Skipped,
                    "undefined" => {
                        self.test.add_message("a step is undefined");
                        Worst::Failed
                    }
                    _ => Worst::Failed,
                });
            }
            ("error_message", Event::Text(text)) => {
                self.test.add_message(&text);
                self.test.details.separate();
                self.test.details.push(&text);
            }
            ("duration", event) => {
                if let Some(time) = duration(&event) {
                    *self.test.seconds.get_or_insert(0.0) += time / NANOSECONDS;
                }
            }
            _ => {}
        }
    }

    fn end_scenario(&mut self, sink: &mut dyn Sink) {
        let mut test = std::mem::take(&mut self.test);
        let worst = std::mem::take(&mut self.worst);
        if std::mem::take(&mut self.background) {
            // The steps of a background belong to the scenario that follows it.
            self.background_worst = worst;
            self.test.details = test.details;
            self.test.message = test.message;
            return;
        }
        test.suite.clone_from(&self.feature);
        let status = match worst.max(std::mem::take(&mut self.background_worst)) {
            Worst::Passed => Status::Passed,
            Worst::Skipped => Status::Skipped,
            Worst::Failed => Status::Failed,
        };
        self.tally.test(status);
        sink.case(test.into_case(Some(status)));
    }
}
