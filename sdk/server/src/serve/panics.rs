//! A panic in a tool fails one call, not the server.

use std::{
    any::Any,
    backtrace::Backtrace,
    env,
    future::poll_fn,
    io::{self, Write},
    mem,
    panic::{self, AssertUnwindSafe},
    pin::pin,
    sync::Once,
    task::Poll,
};

/// Make panics leave their backtrace on stderr. The host passes no `RUST_BACKTRACE` on (host
/// facts, section 6), so without this there would never be one.
pub(crate) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            previous(panic);
            if env::var_os("RUST_BACKTRACE").is_none() {
                let backtrace = Backtrace::force_capture();
                // `eprintln!` panics when nobody reads stderr, and a panic in here ends the process.
                let _ = writeln!(io::stderr(), "stack backtrace:\n{backtrace}");
            }
        }));
    });
}

/// Run a function; a panic is its message.
pub(crate) fn caught<T>(function: impl FnOnce() -> T) -> Result<T, String> {
    panic::catch_unwind(AssertUnwindSafe(function)).map_err(message)
}

/// Run a future to its end; a panic in it is its message.
pub(crate) async fn caught_async<F: Future>(future: F) -> Result<F::Output, String> {
    let mut future = pin!(future);
    poll_fn(|context| match caught(|| future.as_mut().poll(context)) {
        Ok(poll) => poll.map(Ok),
        Err(message) => Poll::Ready(Err(message)),
    })
    .await
}

/// The message of a panic.
pub(crate) fn message(payload: Box<dyn Any + Send>) -> String {
    let message = payload
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| payload.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a message".to_owned());
    // A payload may be of any type, also of one that panics when it is dropped.
    if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(payload);
    }
    message
}
