//! The requests that have not been answered yet.

use std::{
    collections::HashMap,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use tokio_util::sync::CancellationToken;

use crate::serve::message::Id;

/// Counts open requests, so that the end of input can wait for them, and finds the calls that a
/// cancellation names.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    state: Mutex<State>,
    idle: Condvar,
}

#[derive(Debug, Default)]
struct State {
    open: usize,
    calls: HashMap<Id, OpenCall>,
}

#[derive(Debug, Default)]
struct OpenCall {
    cancellation: CancellationToken,
    /// The host has withdrawn the call, so it expects no answer (MCP, Cancellation).
    is_withdrawn: bool,
}

impl InFlight {
    /// A request that is answered elsewhere has begun; [`end`](Self::end) must follow.
    pub(crate) fn begin(&self) {
        self.lock().open += 1;
    }

    /// A call has begun; [`conclude_call`](Self::conclude_call) must follow. `None` when a call with that
    /// id is still open, since its answer could not be told from this one's.
    pub(crate) fn begin_call(&self, id: &Id) -> Option<CancellationToken> {
        let mut state = self.lock();
        if state.calls.contains_key(id) {
            return None;
        }
        let call = OpenCall::default();
        let cancellation = call.cancellation.clone();
        state.calls.insert(id.clone(), call);
        state.open += 1;
        Some(cancellation)
    }

    /// A request has been answered.
    pub(crate) fn end(&self) {
        let mut state = self.lock();
        state.open = state.open.saturating_sub(1);
        if state.open == 0 {
            self.idle.notify_all();
        }
    }

    /// A call is over and about to be answered, after which its id may be used again. Whether the
    /// host still expects the answer. [`end`](Self::end) must follow once it has been sent.
    pub(crate) fn conclude_call(&self, id: &Id) -> bool {
        self.lock()
            .calls
            .remove(id)
            .is_some_and(|call| !call.is_withdrawn)
    }

    /// The host withdraws the call of that id, if it is still open.
    pub(crate) fn withdraw(&self, id: &Id) {
        if let Some(call) = self.lock().calls.get_mut(id) {
            call.is_withdrawn = true;
            call.cancellation.cancel();
        }
    }

    /// Tell all calls that their time is over.
    pub(crate) fn cancel_all(&self) {
        self.lock()
            .calls
            .values()
            .for_each(|call| call.cancellation.cancel());
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().open
    }

    /// Wait until nothing is open, at most until `end`. Whether that was reached.
    pub(crate) fn wait_until_idle(&self, end: Instant) -> bool {
        let mut state = self.lock();
        while state.open > 0 {
            let Some(left) = end.checked_duration_since(Instant::now()) else {
                return false;
            };
            state = self
                .idle
                .wait_timeout(state, left)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
