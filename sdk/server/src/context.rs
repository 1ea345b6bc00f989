//! What a running tool knows about the call it serves.

use std::{sync::Arc, time::Instant};

use tokio_util::sync::CancellationToken;

use crate::artifacts::ArtifactStore;

/// The call a tool is serving: where its artifacts go, whether it has been cancelled, and until
/// when it has time.
///
/// A parameter of this type is filled in by the server and is no argument of the tool. Clones
/// refer to the same call.
#[derive(Debug, Clone)]
pub struct ToolContext {
    call: Arc<Call>,
}

#[derive(Debug)]
struct Call {
    extension: Arc<str>,
    tool: Arc<str>,
    artifacts: ArtifactStore,
    cancellation: CancellationToken,
    deadline: Option<Instant>,
}

impl ToolContext {
    pub(crate) fn new(
        extension: Arc<str>,
        tool: Arc<str>,
        artifacts: ArtifactStore,
        cancellation: CancellationToken,
        deadline: Option<Instant>,
    ) -> Self {
        Self {
            call: Arc::new(Call {
                extension,
                tool,
                artifacts,
                cancellation,
                deadline,
            }),
        }
    }

    /// A context for calling a tool function directly, in a unit test: nothing cancels it, it has
    /// no deadline, and its artifacts go to `artifacts`.
    pub fn for_test(tool: &str, artifacts: ArtifactStore) -> Self {
        Self::new(
            "test".into(),
            tool.into(),
            artifacts,
            CancellationToken::new(),
            None,
        )
    }

    /// The store for files that accompany the result (contract, Artifact-ref schema).
    pub fn artifacts(&self) -> &ArtifactStore {
        &self.call.artifacts
    }

    /// The name under which the tool was called.
    pub fn tool_name(&self) -> &str {
        &self.call.tool
    }

    /// The name of the extension.
    pub fn extension_name(&self) -> &str {
        &self.call.extension
    }

    /// When the call will be answered with a time-out error, if the tool has a `timeout`.
    pub fn deadline(&self) -> Option<Instant> {
        self.call.deadline
    }

    /// Whether nobody waits for the result any more: the host cancelled the call, the tool's own
    /// time is up, or the server is about to end. A plain function that runs for long should look
    /// at this now and then.
    pub fn is_cancelled(&self) -> bool {
        self.call.cancellation.is_cancelled()
    }

    /// Resolves when [`is_cancelled`](Self::is_cancelled) becomes true.
    pub async fn cancelled(&self) {
        self.call.cancellation.cancelled().await;
    }
}
