//! Which requests wait for an answer, and what becomes of every line that arrives.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::message::Answer;
use super::request::RequestId;
use super::trace::{ReadingEnd, SkipReason};

/// How many skipped lines are kept to explain a failure.
const KEPT_SKIPS: usize = 16;

/// How much of a skipped line is kept, in characters.
const EXCERPT_CHARS: usize = 200;

/// What a waiting caller is sent, once.
#[derive(Debug)]
pub(crate) enum Delivery {
    Answer(Answer),
    /// No answer can arrive any more.
    Ended(ReadingEnd),
}

/// The requests of one connection.
#[derive(Debug, Default)]
pub(crate) struct Pending(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    last_id: i64,
    open: HashMap<i64, SyncSender<Delivery>>,
    /// Requests that failed before they were answered, so that a late answer can be told from a
    /// repeated one.
    failed: HashSet<i64>,
    end: Option<ReadingEnd>,
    skips: VecDeque<Skip>,
    skip_count: u64,
}

/// A line that was skipped.
#[derive(Debug, Clone)]
pub(crate) struct Skip {
    number: u64,
    pub(crate) excerpt: String,
    pub(crate) reason: SkipReason,
}

/// A request that waits for its answer.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) id: RequestId,
    pub(crate) delivery: Receiver<Delivery>,
    /// How many lines had been skipped before.
    skips_before: u64,
    /// Whether reading had already ended, in which case nothing will ever be delivered.
    pub(crate) ended_before: Option<ReadingEnd>,
}

/// The caller of one request, to be sent its answer.
#[derive(Debug)]
pub(crate) struct Caller {
    id: RequestId,
    sender: SyncSender<Delivery>,
}

impl Caller {
    pub(crate) fn id(&self) -> RequestId {
        self.id
    }

    pub(crate) fn send(self, answer: Answer) {
        // The only failure is a caller that gave up a moment ago.
        let _ = self.sender.try_send(Delivery::Answer(answer));
    }
}

impl Pending {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the next number and opens a request under it.
    ///
    /// After the end of reading a request is opened all the same and simply never gets an answer:
    /// so does the host.
    pub(crate) fn open(&self) -> Ticket {
        // Room for the one delivery there can be, so that the reader never waits for a caller.
        let (sender, delivery) = sync_channel(1);
        let mut state = self.state();
        state.last_id += 1;
        let id = state.last_id;
        state.open.insert(id, sender);
        Ticket {
            id: RequestId(id),
            delivery,
            skips_before: state.skip_count,
            ended_before: state.end.clone(),
        }
    }

    /// Says that the caller no longer waits.
    pub(crate) fn give_up(&self, id: RequestId) {
        let mut state = self.state();
        if state.open.remove(&id.0).is_some() {
            state.failed.insert(id.0);
        }
    }

    /// Takes the caller that waits for the answer to the request with this number.
    pub(crate) fn claim(&self, id: i64) -> Result<Caller, SkipReason> {
        let mut state = self.state();
        if let Some(sender) = state.open.remove(&id) {
            return Ok(Caller {
                id: RequestId(id),
                sender,
            });
        }
        Err(if state.failed.remove(&id) {
            SkipReason::TooLate { id: RequestId(id) }
        } else if (1..=state.last_id).contains(&id) {
            SkipReason::AnsweredBefore { id: RequestId(id) }
        } else {
            SkipReason::UnknownId { id }
        })
    }

    /// Fails every open request. The first reason stays.
    pub(crate) fn end(&self, reason: ReadingEnd) {
        let mut state = self.state();
        let open: Vec<_> = state.open.drain().collect();
        for (id, caller) in open {
            state.failed.insert(id);
            let _ = caller.try_send(Delivery::Ended(reason.clone()));
        }
        state.end.get_or_insert(reason);
    }

    /// Remembers a skipped line for the explanation of a failure.
    pub(crate) fn skipped(&self, line: &[u8], reason: SkipReason) {
        let mut state = self.state();
        state.skip_count += 1;
        if state.skips.len() == KEPT_SKIPS {
            state.skips.pop_front();
        }
        let skip = Skip {
            number: state.skip_count,
            excerpt: excerpt(line),
            reason,
        };
        state.skips.push_back(skip);
    }

    /// The last lines that were skipped since the request was opened.
    pub(crate) fn skipped_since(&self, ticket: &Ticket) -> Vec<Skip> {
        let state = self.state();
        state
            .skips
            .iter()
            .filter(|skip| skip.number > ticket.skips_before)
            .cloned()
            .collect()
    }
}

/// The beginning of a line, on one line and short enough to be shown in a message.
pub(crate) fn excerpt(line: &[u8]) -> String {
    // Four bytes are the most that one character takes.
    let beginning = &line[..line.len().min(4 * EXCERPT_CHARS)];
    let text = String::from_utf8_lossy(beginning);
    let mut characters = text.trim().chars();
    let mut excerpt: String = characters
        .by_ref()
        .take(EXCERPT_CHARS)
        .map(|character| {
            if character.is_control() {
                ' '
            } else {
                character
            }
        })
        .collect();
    if characters.next().is_some() || beginning.len() < line.trim_ascii_end().len() {
        excerpt.push('…');
    }
    excerpt
}

#[cfg(test)]
mod tests {
    use super::super::message::Outcome;
    use super::*;

    fn answer() -> Answer {
        Answer {
            line: b"{}".to_vec(),
            outcome: Outcome::Result(Vec::new()),
        }
    }

    #[test]
    fn an_answer_goes_to_its_request_once() {
        let pending = Pending::default();
        let first = pending.open();
        let second = pending.open();
        assert_eq!((first.id.get(), second.id.get()), (1, 2));
        let caller = pending.claim(2).unwrap();
        assert_eq!(caller.id(), second.id);
        caller.send(answer());
        assert!(matches!(
            second.delivery.try_recv(),
            Ok(Delivery::Answer(_))
        ));
        assert!(first.delivery.try_recv().is_err());
        let again = SkipReason::AnsweredBefore { id: second.id };
        assert_eq!(pending.claim(2).unwrap_err(), again);
        for unknown in [0, 3, -1] {
            assert_eq!(
                pending.claim(unknown).unwrap_err(),
                SkipReason::UnknownId { id: unknown }
            );
        }
    }

    #[test]
    fn a_late_answer_is_told_from_a_repeated_one() {
        let pending = Pending::default();
        let ticket = pending.open();
        pending.give_up(ticket.id);
        assert_eq!(
            pending.claim(1).unwrap_err(),
            SkipReason::TooLate { id: ticket.id }
        );
    }

    #[test]
    fn the_end_fails_open_requests_and_leaves_later_ones_waiting() {
        let pending = Pending::default();
        let open = pending.open();
        pending.end(ReadingEnd::OutputClosed);
        pending.end(ReadingEnd::ClosedByHost);
        let delivery = open.delivery.try_recv();
        assert!(matches!(
            delivery,
            Ok(Delivery::Ended(ReadingEnd::OutputClosed))
        ));
        let later = pending.open();
        assert_eq!(later.ended_before, Some(ReadingEnd::OutputClosed));
        assert!(later.delivery.try_recv().is_err());
    }

    #[test]
    fn only_lines_skipped_during_the_request_explain_it() {
        let pending = Pending::default();
        pending.skipped(b"before", SkipReason::NoId);
        let ticket = pending.open();
        for _ in 0..2 * KEPT_SKIPS {
            pending.skipped(b"during", SkipReason::NoId);
        }
        let skips = pending.skipped_since(&ticket);
        assert_eq!(skips.len(), KEPT_SKIPS);
        assert!(skips.iter().all(|skip| skip.excerpt == "during"));
    }

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(excerpt(b"  a\tb\x1b[0m \r"), "a b [0m");
        let long = "é".repeat(5000);
        assert_eq!(excerpt(long.as_bytes()).chars().count(), EXCERPT_CHARS + 1);
        assert_eq!(excerpt(&[0xff]), "\u{fffd}");
    }
}
