//! Results that are too long for the model, shortened so that what matters is still read.
//!
//! The agent loop shows the model at most 4096 bytes of a successful result; of a longer one it
//! keeps the first 3072 and the last 1024, wherever that cuts (host facts, section 5). The bytes
//! are those of the text, of one metadata line for each artifact below it, and of the wrapping
//! around both, which depends on the server's name. The server does not know under which name it is
//! configured, so everything here reckons with the longest, 64 bytes. That leaves
//! about 3800 bytes for text and lines, less the length of the tool's name.
//!
//! A result that fits is sent as it is. For one that does not, the first of these that makes it fit
//! is done:
//!
//! 1. The text stays whole; summaries are cut, but not below 160 bytes each.
//! 2. The whole text becomes an artifact, listed first, and head and tail of it remain, with a line
//!    between them that says so: at least half of the room. Summaries are cut as before.
//! 3. As 1 or 2, with summaries cut to whatever is left for them, or left out.
//! 4. As 2, with at least 512 bytes of text.
//! 5. The text stays whole, however long beside the lines; summaries are cut or left out.
//!
//! That covers all results but two kinds, which stay longer than 4096 bytes:
//!
//! - **The lines alone are too many**, as with 64 artifacts that have digests. Then the beginning
//!   of the text and a list of **all ids** stand where the loop's first 3072 bytes keep them, and
//!   the lines follow in the order in which they were attached: the first ones and the last dozen
//!   or so are read too. Ids beyond some 1400 bytes are counted instead of listed.
//! - **There are 64 artifacts already**, so that no reference is left for the text, and the text
//!   does not fit beside their lines. It is sent as it is: shortened by the loop, but whole in the
//!   stored transcript.
//!
//! A text whose artifact cannot be written (no space, no home directory) is sent as it is too, and
//! the reason is logged.
//!
//! What does not live here: how the loop wraps and shortens (`odek_contract::agent_loop`) and how a
//! metadata line looks (`odek_contract::render`). Failed calls are never shortened by the loop, nor
//! here.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::Write;

use odek_contract::agent_loop::{
    LOOP_HEAD_BYTES, LOOP_RESULT_BYTES, max_wrapping_bytes, wrapped_bytes,
};
use odek_contract::artifact::{ArtifactRef, MAX_ARTIFACT_BYTES, MAX_ARTIFACTS, Sha256Digest};
use odek_contract::names::MAX_NAME_BYTES;
use odek_contract::render::{guard_lines, render_envelope};
use serde::de::IgnoredAny;

use crate::artifacts::{Artifact, ArtifactError, ArtifactStore};
use crate::result::{self, Body, ToolError, ToolResult};

/// A server name as long as any.
const LONGEST_SERVER_NAME: &str = match str::from_utf8(&[b's'; MAX_NAME_BYTES]) {
    Ok(name) => name,
    Err(_) => "",
};
/// Id of the artifact that holds a text which was too long.
const FULL_TEXT_ID: &str = "full-text";
/// Summary of that artifact.
const FULL_TEXT_SUMMARY: &str = "The whole text of this result";
/// Summaries are not cut below this, in bytes, while there is another way.
const READABLE_SUMMARY_BYTES: usize = 160;
/// Least of a text that remains beside its artifact, in bytes.
const LEAST_TEXT_BYTES: usize = 512;
/// Longest summary in bytes where the lines cannot all be read anyway.
const CROWDED_SUMMARY_BYTES: usize = 80;
/// Most bytes of the list of all ids.
const MAX_ID_LIST_BYTES: usize = 1400;

/// What happens to a result that is longer than the model can read.
///
/// The agent loop shows the model at most 4096 bytes of a result, metadata lines and wrapping
/// included; of a longer one the first 3072 and the last 1024, wherever that cuts (host facts,
/// section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LongTextPolicy {
    /// The whole text becomes an artifact (id `full-text`, `application/json` if it is JSON, else
    /// `text/plain`), and its head and tail are sent with the reference, so that all of it fits.
    ///
    /// **The host has to accept artifacts for this**: the artifact root, see
    /// [`artifacts`](crate::artifacts), has to be listed in `artifact_roots`, else the host refuses
    /// the reference and with it the whole result.
    ///
    /// Long summaries are cut, too. Two kinds of results stay longer than 4096 bytes: with so many
    /// artifacts that their lines alone are longer, the text gets a list of all ids where it
    /// survives; with 64 artifacts and a long text there is no reference left, and the text is sent
    /// as it is.
    #[default]
    Attach,
    /// The text is sent as it is, and the loop cuts it. The stored transcript has all of it.
    Keep,
}

/// Makes a result fit, as far as the policy wants.
///
/// # Errors
///
/// More than 64 artifacts, or one with a blank id. Never because of the text.
pub(crate) fn fit(
    result: ToolResult,
    tool: &str,
    policy: LongTextPolicy,
    store: &ArtifactStore,
) -> Result<ToolResult, ToolError> {
    let Body::Built { text, artifacts } = &result.body else {
        return Ok(result);
    };
    if policy == LongTextPolicy::Keep {
        return Ok(result);
    }
    let references = result::references(artifacts)?;
    let Some(plan) = Plan::make(text, &references, tool) else {
        return Ok(result);
    };
    let mut shortened: Vec<Artifact> = artifacts
        .iter()
        .map(|artifact| cut_artifact_summary(artifact, plan.summary_bytes))
        .collect();
    if let Some(full_text) = &plan.attached {
        match write_full_text(store, full_text, text) {
            Ok(artifact) => shortened.insert(0, artifact),
            Err(error) => {
                tracing::warn!("tool {tool}: a long text is sent as it is: {error}");
                return Ok(result);
            }
        }
    }
    Ok(result.with_body(plan.text, shortened))
}

/// What to do with a result that does not fit. Nothing is written yet.
#[derive(Debug, Clone, PartialEq)]
struct Plan {
    /// What stays of the text.
    text: String,
    /// Longest summary, in bytes.
    summary_bytes: usize,
    /// The reference to the whole text, if it has to become an artifact. URI and digest are
    /// stand-ins.
    attached: Option<ArtifactRef>,
    outcome: PlanOutcome,
}

/// How far a plan gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PlanOutcome {
    /// Text, lines and wrapping have at most 4096 bytes.
    Fits,
    /// The lines are too many; text and ids stand where they survive.
    Crowded,
}

/// One way to make a result fit.
struct Step {
    /// The text may be cut down to this, in bytes.
    least_text: LeastText,
    /// Summaries may be cut down to this, in bytes.
    least_summary: usize,
}

#[derive(Clone, Copy)]
enum LeastText {
    Whole,
    HalfOfTheRoom,
    Bytes(usize),
}

const STEPS: [Step; 5] = [
    Step {
        least_text: LeastText::Whole,
        least_summary: READABLE_SUMMARY_BYTES,
    },
    Step {
        least_text: LeastText::HalfOfTheRoom,
        least_summary: READABLE_SUMMARY_BYTES,
    },
    Step {
        least_text: LeastText::HalfOfTheRoom,
        least_summary: 0,
    },
    Step {
        least_text: LeastText::Bytes(LEAST_TEXT_BYTES),
        least_summary: 0,
    },
    Step {
        least_text: LeastText::Whole,
        least_summary: 0,
    },
];

impl Plan {
    /// Decides what to do; `None` when the result is to be sent as it is.
    fn make(text: &str, references: &[ArtifactRef], tool: &str) -> Option<Self> {
        let page = Page { tool };
        if page.excess(text, references) == 0 {
            return None;
        }
        let situation = Situation {
            page,
            text,
            references,
            full_text: reference_to_full_text(text, references),
        };
        STEPS
            .iter()
            .find_map(|step| situation.follow(step))
            .or_else(|| situation.crowded())
    }
}

/// A result that does not fit.
struct Situation<'a> {
    page: Page<'a>,
    text: &'a str,
    references: &'a [ArtifactRef],
    /// The reference that the whole text would get; `None` when there is none to be had.
    full_text: Option<ArtifactRef>,
}

impl Situation<'_> {
    /// Tries one way to make the result fit.
    fn follow(&self, step: &Step) -> Option<Plan> {
        let least = match step.least_text {
            LeastText::Whole => self.text.len(),
            LeastText::HalfOfTheRoom => self.page.room() / 2,
            LeastText::Bytes(bytes) => bytes,
        };
        if least >= self.text.len() {
            return self.with_whole_text(step.least_summary);
        }
        self.with_excerpt(least, step.least_summary)
    }

    fn with_whole_text(&self, least_summary: usize) -> Option<Plan> {
        let fits = |references: &[ArtifactRef]| self.page.excess(self.text, references) == 0;
        let summary_bytes = longest_summary(self.references, least_summary, fits)?;
        Some(Plan {
            text: self.text.to_owned(),
            summary_bytes,
            attached: None,
            outcome: PlanOutcome::Fits,
        })
    }

    fn with_excerpt(&self, least_text: usize, least_summary: usize) -> Option<Plan> {
        let full_text = self.full_text.as_ref()?;
        let references = with_first(full_text, self.references);
        let fits = |references: &[ArtifactRef]| self.page.room_beside(references) >= least_text;
        let summary_bytes = longest_summary(&references, least_summary, fits)?;
        let references = cut_summaries(&references, summary_bytes);
        let attached = references.first().cloned();
        let room = self.page.room_beside(&references);
        let text = shrink(room, |room| {
            let text = excerpt(self.text, room, &full_text.id);
            let excess = self.page.excess(&text, &references);
            (text, excess)
        })?;
        Some(Plan {
            text,
            summary_bytes,
            attached,
            outcome: PlanOutcome::Fits,
        })
    }

    /// For lines that are too many: text and ids within the bytes that the loop keeps from the
    /// start. `None` when the text does not fit there and cannot be attached.
    fn crowded(&self) -> Option<Plan> {
        let head = self.page.head_room();
        let ids = list_of_ids(self.references);
        if grown_bytes(self.text) + 1 + ids.len() <= head {
            return Some(Plan {
                text: join_lines(self.text, &ids),
                summary_bytes: CROWDED_SUMMARY_BYTES,
                attached: None,
                outcome: PlanOutcome::Crowded,
            });
        }
        let full_text = self.full_text.as_ref()?;
        let ids = list_of_ids(&with_first(full_text, self.references));
        let text = shrink(head.saturating_sub(ids.len() + 1), |room| {
            let text = join_lines(&excerpt(self.text, room, &full_text.id), &ids);
            let excess = grown_bytes(&text).saturating_sub(head);
            (text, excess)
        })?;
        Some(Plan {
            text,
            summary_bytes: CROWDED_SUMMARY_BYTES,
            attached: Some(full_text.clone()),
            outcome: PlanOutcome::Crowded,
        })
    }
}

/// The page that the model sees: 4096 bytes, less the wrapping with the longest server name.
#[derive(Clone, Copy)]
struct Page<'a> {
    tool: &'a str,
}

impl Page<'_> {
    /// Bytes for text and lines.
    fn room(self) -> usize {
        LOOP_RESULT_BYTES.saturating_sub(self.wrapping())
    }

    /// Bytes for what has to be among the first that the loop keeps.
    fn head_room(self) -> usize {
        LOOP_HEAD_BYTES.saturating_sub(self.wrapping())
    }

    /// Bytes for a text above these lines.
    fn room_beside(self, references: &[ArtifactRef]) -> usize {
        let lines = render_envelope("", references);
        // One line feed stands between text and lines.
        self.room().saturating_sub(grown_bytes(&lines) + 1)
    }

    /// Bytes by which a result is too long; exact, everything counted, unless the text alone is
    /// too long.
    fn excess(self, text: &str, references: &[ArtifactRef]) -> usize {
        if text.len() > LOOP_RESULT_BYTES {
            return text.len() - LOOP_RESULT_BYTES;
        }
        let rendered = render_envelope(text, references);
        wrapped_bytes(LONGEST_SERVER_NAME, self.tool, &rendered).saturating_sub(LOOP_RESULT_BYTES)
    }

    fn wrapping(self) -> usize {
        max_wrapping_bytes(MAX_NAME_BYTES, self.tool.len())
    }
}

/// Bytes of a text once its lines are guarded and its markers defused, without the wrapping.
fn grown_bytes(text: &str) -> usize {
    wrapped_bytes("", "", &guard_lines(text)).saturating_sub(max_wrapping_bytes(0, 0))
}

/// Makes a text in ever less room until nothing of it is too much. How much guarding and defusing
/// add is only known of a finished text. `None` when there is no room at all.
fn shrink(mut room: usize, make: impl Fn(usize) -> (String, usize)) -> Option<String> {
    loop {
        let (text, excess) = make(room);
        if excess == 0 {
            return Some(text);
        }
        room = room.checked_sub(excess)?;
    }
}

/// The longest summary, in bytes and at least `least`, with which the references fit.
fn longest_summary(
    references: &[ArtifactRef],
    least: usize,
    fits: impl Fn(&[ArtifactRef]) -> bool,
) -> Option<usize> {
    let fits = |bytes| fits(&cut_summaries(references, bytes));
    if !fits(least) {
        return None;
    }
    let longest = references.iter().map(|r| summary_of(r).len()).max();
    let (mut good, mut bad) = (least, longest.unwrap_or(0).max(least) + 1);
    while bad - good > 1 {
        let middle = good.midpoint(bad);
        if fits(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    Some(good)
}

fn summary_of(reference: &ArtifactRef) -> &str {
    reference.summary.as_deref().unwrap_or_default()
}

fn cut_summaries(references: &[ArtifactRef], bytes: usize) -> Vec<ArtifactRef> {
    let cut = |reference: &ArtifactRef| ArtifactRef {
        summary: Some(cut_summary(summary_of(reference), bytes).into_owned()),
        ..reference.clone()
    };
    references.iter().map(cut).collect()
}

fn cut_artifact_summary(artifact: &Artifact, bytes: usize) -> Artifact {
    let summary = artifact.to_reference().summary.unwrap_or_default();
    artifact.clone().summary(cut_summary(&summary, bytes))
}

/// A summary of at most so many bytes; empty rather than a few letters of it.
fn cut_summary(summary: &str, bytes: usize) -> Cow<'_, str> {
    const ELLIPSIS: &str = "…";
    const SHORTEST: usize = 16;
    if summary.len() <= bytes {
        Cow::Borrowed(summary)
    } else if bytes < SHORTEST {
        Cow::Borrowed("")
    } else {
        let kept = start_of(summary, bytes - ELLIPSIS.len()).trim_end();
        Cow::Owned(format!("{kept}{ELLIPSIS}"))
    }
}

/// Head and tail of a text with a line between them, in so many bytes. With too little room for
/// anything else it is that line alone.
fn excerpt(text: &str, room: usize, id: &str) -> String {
    let line = |left_out: usize| {
        let total = text.len();
        format!(
            "[... {left_out} of {total} bytes left out; artifact \"{id}\" has the whole text ...]"
        )
    };
    // The number left out has at most as many digits as the total.
    let room = room.saturating_sub(line(text.len()).len() + "\n\n".len());
    let head = head_of(text, room - room / 4);
    let tail = tail_of(&text[head.len()..], room / 4);
    let left_out = text.len() - head.len() - tail.len();
    join_lines(
        &join_lines(head, &line(left_out)),
        tail.trim_end_matches('\n'),
    )
}

/// Two texts on lines of their own.
fn join_lines(first: &str, second: &str) -> String {
    let first = first.strip_suffix('\n').unwrap_or(first);
    match (first.is_empty(), second.is_empty()) {
        (true, _) => second.to_owned(),
        (_, true) => first.to_owned(),
        _ => format!("{first}\n{second}"),
    }
}

/// The beginning of a text in at most so many bytes: to the end of a line if that leaves half of
/// it, else to the end of a character.
fn head_of(text: &str, bytes: usize) -> &str {
    let head = start_of(text, bytes);
    match head.rfind('\n') {
        Some(at) if at >= head.len() / 2 => &head[..=at],
        _ => head,
    }
}

/// The end of a text in at most so many bytes: from the start of a line if that leaves half of it,
/// else from the start of a character.
fn tail_of(text: &str, bytes: usize) -> &str {
    let mut start = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let tail = &text[start..];
    if start == 0 || text[..start].ends_with('\n') {
        return tail;
    }
    match tail.find('\n') {
        Some(at) if at < tail.len() / 2 => &tail[at + 1..],
        _ => tail,
    }
}

/// The longest beginning of whole characters in at most so many bytes.
fn start_of(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// A line with the ids of all artifacts, as many as there is room for.
fn list_of_ids(references: &[ArtifactRef]) -> String {
    let count = references.len();
    let mut ids = String::new();
    for (listed, reference) in references.iter().enumerate() {
        let separator = if listed == 0 { "" } else { ", " };
        if ids.len() + separator.len() + reference.id.len() > MAX_ID_LIST_BYTES {
            let missing = count - listed;
            let more = if listed == 0 { "" } else { " and " };
            ids.push_str(&format!("{more}{missing} more"));
            break;
        }
        ids.push_str(separator);
        ids.push_str(&reference.id);
    }
    format!("[{count} artifacts, more than can be listed below in full: {ids}]")
}

fn with_first(first: &ArtifactRef, rest: &[ArtifactRef]) -> Vec<ArtifactRef> {
    let mut all = vec![first.clone()];
    all.extend_from_slice(rest);
    all
}

/// The reference that the whole text would get, with a stand-in for the digest; `None` when the
/// result has as many references as the host takes.
fn reference_to_full_text(text: &str, references: &[ArtifactRef]) -> Option<ArtifactRef> {
    if references.len() == MAX_ARTIFACTS {
        return None;
    }
    let taken: HashSet<String> = references.iter().map(|r| r.id.clone()).collect();
    let id = if taken.contains(FULL_TEXT_ID) {
        result::free_id(FULL_TEXT_ID, &taken)
    } else {
        FULL_TEXT_ID.to_owned()
    };
    let media_type = if text.len() as u64 > MAX_ARTIFACT_BYTES {
        "application/gzip"
    } else if serde_json::from_str::<IgnoredAny>(text).is_ok() {
        "application/json"
    } else {
        "text/plain"
    };
    Some(ArtifactRef {
        sha256: Some(Sha256Digest::from_bytes([0; 32]).to_string()),
        size_bytes: i64::try_from(text.len()).ok(),
        summary: Some(FULL_TEXT_SUMMARY.to_owned()),
        ..ArtifactRef::new(id, "", media_type)
    })
}

/// Writes the whole text; one that is larger than an artifact may be is compressed.
fn write_full_text(
    store: &ArtifactStore,
    reference: &ArtifactRef,
    text: &str,
) -> Result<Artifact, ArtifactError> {
    let writer = if text.len() as u64 > MAX_ARTIFACT_BYTES {
        store.create_compressed(&reference.id)?
    } else {
        store.create(&reference.id)?
    };
    let mut writer = writer
        .media_type(&reference.media_type)
        .summary(summary_of(reference));
    // A failure is kept by the writer, which gives it with its type at the end.
    let _ = writer.write_all(text.as_bytes());
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::artifacts::Retention;
    use odek_contract::agent_loop::{LOOP_TAIL_BYTES, shorten, wrap_untrusted};
    use odek_contract::artifact::ArtifactRoots;
    use odek_contract::config::Limits;
    use odek_contract::result::ResultContext;
    use proptest::prelude::*;
    use serde_json::json;
    use std::fs;
    use std::path::Path;

    const TOOL: &str = "summarize";

    struct Fixture {
        folder: tempfile::TempDir,
        store: ArtifactStore,
    }

    impl Fixture {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let store = ArtifactStore::at(folder.path(), Retention::default());
            Self { folder, store }
        }

        fn fit(&self, result: ToolResult) -> ToolResult {
            fit(result, TOOL, LongTextPolicy::Attach, &self.store).unwrap()
        }

        /// The text that the host's client makes of a result: everything validated and rendered.
        fn host_text(&self, result: ToolResult) -> String {
            let content = result.into_content().unwrap();
            let json = json!({"content": [{"type": "text", "text": content.text}]}).to_string();
            let roots = [self.folder.path().to_str().unwrap().to_owned()];
            let roots = ArtifactRoots::resolve(&roots, Path::new("/"));
            let context = ResultContext {
                server: LONGEST_SERVER_NAME,
                tool: TOOL,
                limits: &Limits::DEFAULT,
                roots: &roots,
            };
            context.read_result(json.as_bytes()).unwrap().text
        }

        /// What the model reads of a result.
        fn model_text(&self, result: ToolResult) -> String {
            let text = self.host_text(result);
            let wrapped = wrap_untrusted(LONGEST_SERVER_NAME, TOOL, &"0".repeat(32), &text);
            shorten(&wrapped).into_owned()
        }

        fn artifacts(&self, ids: impl IntoIterator<Item = String>, summary: &str) -> Vec<Artifact> {
            let artifact = self.store.write_bytes("x", "content").unwrap();
            ids.into_iter()
                .map(|id| artifact.clone().id(id).summary(summary))
                .collect()
        }

        fn numbered(&self, count: usize, summary: &str) -> Vec<Artifact> {
            self.artifacts((1..=count).map(|n| format!("artifact-{n:02}")), summary)
        }

        fn files(&self) -> usize {
            fs::read_dir(self.folder.path()).unwrap().count()
        }
    }

    fn is_shortened(model_text: &str) -> bool {
        model_text.contains("omitted by the agent loop")
    }

    fn numbered_lines(count: usize) -> String {
        (1..=count)
            .map(|n| format!("line {n} of the report\n"))
            .collect()
    }

    #[test]
    fn a_result_that_fits_is_sent_as_it_is() {
        let fixture = Fixture::new();
        let page = Page { tool: TOOL };
        let longest = "x".repeat(page.room());
        for text in ["", "short", &longest] {
            let result = ToolResult::text(text);
            assert_eq!(fixture.fit(result.clone()), result);
            assert!(!is_shortened(&fixture.model_text(result)));
        }
        assert_eq!(fixture.files(), 0);
        // One byte more would be shortened by the loop, with the longest names.
        let result = fixture.fit(ToolResult::text(format!("{longest}x")));
        assert_eq!(result.attached_artifacts().len(), 1);
    }

    #[test]
    fn a_long_text_becomes_an_artifact_with_head_and_tail() {
        let fixture = Fixture::new();
        let text = numbered_lines(1000);
        let result = fixture.fit(ToolResult::text(&text));
        let [artifact] = result.attached_artifacts() else {
            panic!("{result:?}");
        };
        assert_eq!(fs::read_to_string(artifact.path()).unwrap(), text);
        let seen = fixture.model_text(result);
        assert!(!is_shortened(&seen));
        assert!(seen.contains("\nline 1 of the report\n"));
        assert!(
            seen.contains("of the report\n[... "),
            "cut behind a line: {seen}"
        );
        assert!(
            seen.contains("artifact \"full-text\" has the whole text ...]\nline "),
            "{seen}"
        );
        assert!(seen.contains("\nline 1000 of the report\n- artifact \"full-text\" (text/plain, "));
        assert!(seen.len() > 3800, "the room is used: {}", seen.len());
    }

    #[test]
    fn the_line_between_counts_what_is_missing() {
        let text = numbered_lines(1000);
        let short = excerpt(&text, 2000, "full-text");
        let (head, rest) = short.split_once("[... ").unwrap();
        let (left_out, rest) = rest.split_once(" of ").unwrap();
        let (_, tail) = rest.split_once("...]\n").unwrap();
        let left_out: usize = left_out.parse().unwrap();
        // The tail has lost the line feed at its end.
        assert_eq!(left_out, text.len() - head.len() - tail.len() - 1);
        assert!(text.starts_with(head) && text.ends_with(&format!("{tail}\n")));
    }

    #[test]
    fn long_json_stays_json_in_the_artifact() {
        let fixture = Fixture::new();
        let value = json!({"cases": (0..2000).collect::<Vec<_>>()});
        let result = fixture.fit(ToolResult::json(&value).unwrap());
        assert_eq!(result.structured_content(), Some(&value));
        let artifact = &result.attached_artifacts()[0];
        assert_eq!(artifact.to_reference().media_type, "application/json");
        let written: serde_json::Value =
            serde_json::from_slice(&fs::read(artifact.path()).unwrap()).unwrap();
        assert_eq!(written, value);
        assert!(!is_shortened(&fixture.model_text(result)));
    }

    #[test]
    fn the_policy_can_keep_everything() {
        let fixture = Fixture::new();
        let result = ToolResult::text("x".repeat(10_000));
        let kept = fit(result.clone(), TOOL, LongTextPolicy::Keep, &fixture.store).unwrap();
        assert_eq!(kept, result);
        let envelope = odek_contract::envelope::ToolResultEnvelope::new("x".repeat(10_000));
        let result = ToolResult::envelope(envelope);
        assert_eq!(fixture.fit(result.clone()), result);
        assert_eq!(fixture.files(), 0);
    }

    #[test]
    fn a_text_that_cannot_be_attached_is_sent_as_it_is() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let store = ArtifactStore::at(file.path(), Retention::default());
        let result = ToolResult::text("x".repeat(10_000));
        let kept = fit(result.clone(), TOOL, LongTextPolicy::Attach, &store).unwrap();
        assert_eq!(kept, result);
    }

    #[test]
    fn the_authors_artifacts_keep_their_ids() {
        let fixture = Fixture::new();
        let own = fixture.artifacts(["full-text".to_owned(), "full-text".to_owned()], "");
        let result = ToolResult::text(numbered_lines(1000)).artifacts(own);
        let seen = fixture.model_text(fixture.fit(result));
        assert!(
            seen.contains("artifact \"full-text-3\" has the whole text"),
            "{seen}"
        );
        for id in ["full-text-3", "full-text", "full-text-2"] {
            assert!(
                seen.contains(&format!("\n- artifact \"{id}\" (")),
                "{id}: {seen}"
            );
        }
    }

    #[test]
    fn long_summaries_give_way_to_the_text() {
        let fixture = Fixture::new();
        let summary = "a long summary ".repeat(100);
        let text = numbered_lines(60);
        let artifacts = fixture.numbered(5, &summary);
        let result = fixture.fit(ToolResult::text(&text).artifacts(artifacts));
        assert_eq!(result.text_content(), text, "the text stays whole");
        assert_eq!(result.attached_artifacts().len(), 5);
        let seen = fixture.model_text(result);
        assert!(!is_shortened(&seen));
        let repeats = seen.matches("a long summary ").count();
        assert!((5 * 11..5 * 100).contains(&repeats), "{repeats} in {seen}");
        assert_eq!(
            seen.matches('…').count(),
            10,
            "five digests, five summaries"
        );
    }

    #[test]
    fn text_and_many_artifacts_share_the_page() {
        let fixture = Fixture::new();
        let artifacts = fixture.numbered(30, &"summary ".repeat(50));
        let result = ToolResult::text(numbered_lines(1000)).artifacts(artifacts);
        let seen = fixture.model_text(fixture.fit(result));
        assert!(!is_shortened(&seen));
        assert!(seen.contains("line 1 of") && seen.contains("line 1000 of"));
        for n in 1..=30 {
            assert!(
                seen.contains(&format!("\n- artifact \"artifact-{n:02}\" (")),
                "{n}"
            );
        }
    }

    #[test]
    fn sixty_four_artifacts_with_long_summaries_are_all_named() {
        let fixture = Fixture::new();
        let artifacts = fixture.numbered(64, &"long summary ".repeat(300));
        let text = "64 files were written; 3 of them have errors.";
        let fitted = fixture.fit(ToolResult::text(text).artifacts(artifacts));
        assert_eq!(fitted.attached_artifacts().len(), 64);
        let seen = fixture.model_text(fitted);
        assert!(is_shortened(&seen), "the lines alone are too many");
        assert!(seen.contains(text));
        for n in 1..=64 {
            assert!(seen.contains(&format!("artifact-{n:02}")), "{n}: {seen}");
        }
        // The first and the last lines are read, too.
        assert!(seen.contains("\n- artifact \"artifact-01\" (text/plain, 7 bytes, sha256 "));
        assert!(seen.contains("\n- artifact \"artifact-64\" (text/plain, 7 bytes, sha256 "));
    }

    #[test]
    fn a_long_text_beside_too_many_lines_is_attached_and_named_first() {
        let fixture = Fixture::new();
        let artifacts = fixture.numbered(63, "");
        let text = numbered_lines(1000);
        let fitted = fixture.fit(ToolResult::text(&text).artifacts(artifacts));
        assert_eq!(fitted.attached_artifacts().len(), 64);
        let seen = fixture.model_text(fitted);
        let head = &seen[..LOOP_HEAD_BYTES];
        assert!(
            head.contains("line 1 of") && head.contains("line 1000 of"),
            "{head}"
        );
        assert!(
            head.contains("\n- artifact \"full-text\" (text/plain, "),
            "{head}"
        );
        assert!(head.contains("artifact-63]"), "{head}");
        assert!(seen[seen.len() - LOOP_TAIL_BYTES..].contains("\"artifact-63\""));
    }

    #[test]
    fn without_a_reference_left_a_long_text_is_sent_as_it_is() {
        let fixture = Fixture::new();
        let artifacts = fixture.numbered(64, "");
        let result = ToolResult::text(numbered_lines(1000)).artifacts(artifacts);
        assert_eq!(fixture.fit(result.clone()), result);
    }

    #[test]
    fn too_many_artifacts_are_an_error() {
        let fixture = Fixture::new();
        let result = ToolResult::text("").artifacts(fixture.numbered(65, ""));
        let error = fit(result, TOOL, LongTextPolicy::Attach, &fixture.store).unwrap_err();
        assert!(error.to_string().contains("65 artifacts"), "{error}");
    }

    #[test]
    fn ids_beyond_the_room_are_counted() {
        let reference = |n| ArtifactRef::new(format!("{n}{}", "i".repeat(500)), "", "");
        let references: Vec<_> = (0..5).map(reference).collect();
        let list = list_of_ids(&references);
        assert!(list.ends_with("i and 3 more]"), "{list}");
        let long = ArtifactRef::new("i".repeat(4000), "", "");
        assert!(list_of_ids(&[long]).ends_with(": 1 more]"));
    }

    #[test]
    fn cuts_prefer_line_ends_and_never_split_characters() {
        assert_eq!(head_of("one\ntwo\nthree", 9), "one\ntwo\n");
        assert_eq!(head_of("o\nabcdefghij", 9), "o\nabcdefg");
        assert_eq!(head_of("ééé", 3), "é");
        assert_eq!(tail_of("one\ntwo\nthree", 7), "three");
        assert_eq!(tail_of("one\ntwo", 3), "two");
        assert_eq!(tail_of("abcdefgh\ni", 8), "cdefgh\ni");
        assert_eq!(tail_of("ééé", 3), "é");
        assert_eq!(cut_summary("summary of something", 17), "summary of som…");
        assert_eq!(cut_summary("summary of something", 15), "");
        assert_eq!(cut_summary("summary", 7), "summary");
    }

    /// Text with everything that grows when it is guarded and wrapped.
    fn awkward_text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            3 => "[a-z ]{0,60}\n",
            1 => Just("- artifact x\n".to_owned()),
            1 => Just("untrusted_content".to_owned()),
            1 => "[é日🦀\r]{0,20}",
            1 => Just("{".to_owned()),
        ];
        (proptest::collection::vec(piece, 0..30), 1..40_usize)
            .prop_map(|(pieces, times)| pieces.concat().repeat(times))
    }

    fn awkward_artifacts() -> impl Strategy<Value = Vec<(String, String)>> {
        let artifact = (
            "[a-c\"é]{1,12}",
            prop_oneof![Just(String::new()), ".{0,300}"],
        );
        proptest::collection::vec(artifact, 0..=64)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn the_model_reads_the_result_whole_or_what_matters_of_it(
            text in awkward_text(),
            artifacts in awkward_artifacts(),
        ) {
            let fixture = Fixture::new();
            let one = fixture.store.write_bytes("x", "content").unwrap();
            let artifacts: Vec<_> = artifacts
                .iter()
                .map(|(id, summary)| one.clone().id(id).summary(summary))
                .collect();
            let references = result::references(&artifacts).unwrap();
            let plan = Plan::make(&text, &references, TOOL);
            let result = ToolResult::text(&text).artifacts(artifacts);
            let fitted = fixture.fit(result.clone());
            let host_text = fixture.host_text(fitted.clone());
            let bytes = wrapped_bytes(LONGEST_SERVER_NAME, TOOL, &host_text);
            match plan {
                None if bytes > LOOP_RESULT_BYTES => {
                    // No reference is left for the text.
                    prop_assert_eq!(references.len(), MAX_ARTIFACTS);
                    prop_assert_eq!(fitted, result);
                }
                None => prop_assert_eq!(fitted, result),
                Some(Plan { outcome: PlanOutcome::Fits, attached, .. }) => {
                    prop_assert!(bytes <= LOOP_RESULT_BYTES, "{} bytes", bytes);
                    match attached {
                        None => prop_assert_eq!(fitted.text_content(), &text),
                        Some(_) => {
                            let full = fs::read_to_string(fitted.attached_artifacts()[0].path());
                            prop_assert_eq!(full.unwrap(), text);
                        }
                    }
                }
                Some(Plan { outcome: PlanOutcome::Crowded, text: shown, .. }) => {
                    // Only where the lines are too many even without summaries.
                    let bare = cut_summaries(&references, 0);
                    let least = Page { tool: TOOL }.room_beside(&bare);
                    prop_assert!(least < LEAST_TEXT_BYTES + 200, "{} bytes were left", least);
                    let seen = fixture.model_text(fitted);
                    let defused = "untrusted\u{b7}content";
                    let shown = guard_lines(&shown).replace("untrusted_content", defused);
                    prop_assert!(seen.contains(&shown));
                    prop_assert!(shown.len() <= LOOP_HEAD_BYTES);
                }
            }
        }

        #[test]
        fn an_excerpt_keeps_to_its_room(text in awkward_text(), room in 0_usize..3000) {
            let short = excerpt(&text, room, "full-text");
            let line = "[... 0 of 0 bytes left out; artifact \"full-text\" has the whole text ...]";
            prop_assert!(short.len() <= room.max(line.len() + 2 * 5));
            prop_assert!(short.contains("left out; artifact"));
        }
    }
}
