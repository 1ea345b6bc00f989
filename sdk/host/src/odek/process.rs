//! The server process: started without a shell, watched, ended, and always reaped.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::latch::Latch;
use super::trace::{Tracer, WireEventKind};

/// How long the host waits for the server after closing its standard input (host facts, section 1).
pub const CLOSE_GRACE: Duration = Duration::from_secs(5);

/// How long to wait for a killed process to disappear. It needs no more than a moment; a process
/// stuck in the kernel is left to the thread that watches it.
const AFTER_KILL: Duration = Duration::from_secs(2);

/// Held while a process is started. For a moment a new process has a copy of every descriptor of
/// this one, and so of the server's ends of another server's pipes, if those are made just then.
/// The pipes would seem open although that server has closed them.
static STARTING: Mutex<()> = Mutex::new(());

/// How a server process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerExit {
    /// It ended by itself with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// Its status is not known, because something else in this process collected it.
    Unknown,
}

impl ServerExit {
    fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, Some(signal)) => Self::Signal(signal),
            (None, None) => Self::Unknown,
        }
    }
}

impl fmt::Display for ServerExit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
            Self::Unknown => f.write_str("unknown exit status"),
        }
    }
}

/// Where the server's standard error goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stderr {
    /// To the standard error of this process, as in the real host.
    #[default]
    Inherit,
    /// Nowhere.
    Null,
    /// Into memory; the last [64 KiB](super::CAPTURED_STDERR_BYTES) are kept.
    Capture,
}

/// Everything that is needed to start a server process.
#[derive(Debug)]
pub(crate) struct Launch {
    pub(crate) program: PathBuf,
    /// The command as configured: what the process sees as its own name.
    pub(crate) command: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    pub(crate) working_directory: PathBuf,
    pub(crate) stderr: Stderr,
}

impl Launch {
    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command
            .arg0(&self.command)
            .args(&self.arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.working_directory)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(match self.stderr {
                Stderr::Inherit => Stdio::inherit(),
                Stderr::Null => Stdio::null(),
                Stderr::Capture => Stdio::piped(),
            });
        command
    }

    fn spawned(&self, process_id: u32) -> WireEventKind {
        let names = self
            .environment
            .iter()
            .map(|(name, _)| name.to_string_lossy().into_owned());
        WireEventKind::Spawned {
            process_id,
            program: self.program.clone(),
            arguments: self.arguments.clone(),
            environment: names.collect(),
        }
    }
}

/// A running or finished server process.
#[derive(Debug)]
pub(crate) struct Process {
    id: u32,
    shared: Arc<Watched>,
}

#[derive(Debug)]
struct Watched {
    child: Mutex<Child>,
    exit: Mutex<Option<ServerExit>>,
    exited: Arc<Latch>,
    tracer: Tracer,
}

impl Process {
    /// Starts the process and the thread that waits for its end, which switches `exited` on once
    /// the process is reaped.
    ///
    /// The pipes to the process are still to be taken; see [`Process::with_child`].
    pub(crate) fn start(launch: &Launch, exited: Arc<Latch>, tracer: Tracer) -> io::Result<Self> {
        let child = {
            let _one_at_a_time = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
            launch.command().spawn()?
        };
        let id = child.id();
        tracer.record(|| launch.spawned(id));
        let shared = Arc::new(Watched {
            child: Mutex::new(child),
            exit: Mutex::new(None),
            exited,
            tracer,
        });
        let watched = Arc::clone(&shared);
        let watcher = thread::Builder::new()
            .name("odek-server-exit".to_owned())
            .spawn(move || watched.watch(id));
        if let Err(error) = watcher {
            let mut child = shared.child.lock().unwrap_or_else(PoisonError::into_inner);
            // Without a watcher the process could become a zombie, so it must not live.
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        Ok(Self { id, shared })
    }

    pub(crate) fn id(&self) -> u32 {
        self.id
    }

    /// Gives access to the child, to take its pipes.
    pub(crate) fn with_child<T>(&self, use_child: impl FnOnce(&mut Child) -> T) -> T {
        use_child(
            &mut self
                .shared
                .child
                .lock()
                .unwrap_or_else(PoisonError::into_inner),
        )
    }

    pub(crate) fn exit(&self) -> Option<ServerExit> {
        *self
            .shared
            .exit
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the end of the process up to `grace`, then kills it. Says how it ended.
    pub(crate) fn end(&self, grace: Duration) -> (ServerExit, Ending) {
        if self.wait(grace) {
            return (self.exit().unwrap_or(ServerExit::Unknown), Ending::ByItself);
        }
        self.shared
            .tracer
            .record(|| WireEventKind::Killing { waited: grace });
        // Only the direct child is killed, and SIGTERM is never sent: so does the host.
        let _ = self.with_child(Child::kill);
        self.wait(AFTER_KILL);
        (self.exit().unwrap_or(ServerExit::Unknown), Ending::Killed)
    }

    fn wait(&self, timeout: Duration) -> bool {
        // A failing poll leaves the question open; the answer "not yet" makes the caller kill.
        self.shared.exited.wait(Some(timeout)).unwrap_or(false)
    }
}

/// What ended a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    ByItself,
    Killed,
}

impl Watched {
    fn watch(&self, id: u32) {
        wait_without_reaping(id);
        // The lock keeps a concurrent kill from reaching another process that got this number.
        let status = self
            .child
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .wait();
        let exit = status.map_or(ServerExit::Unknown, ServerExit::of);
        *self.exit.lock().unwrap_or_else(PoisonError::into_inner) = Some(exit);
        self.tracer.record(|| WireEventKind::Exited(exit));
        self.exited.set();
    }
}

/// Blocks until the process has ended and leaves it to be reaped, so that nothing is locked for as
/// long as it runs.
fn wait_without_reaping(id: u32) {
    let Some(pid) = i32::try_from(id).ok().and_then(Pid::from_raw) else {
        return;
    };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
    while matches!(
        waitid(WaitId::Pid(pid), options),
        Err(rustix::io::Errno::INTR)
    ) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn start(script: &str) -> Process {
        let launch = Launch {
            program: "/bin/sh".into(),
            command: "sh".to_owned(),
            arguments: vec!["-c".to_owned(), script.to_owned()],
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            working_directory: "/".into(),
            stderr: Stderr::Inherit,
        };
        Process::start(&launch, Arc::new(Latch::new().unwrap()), Tracer::new(None)).unwrap()
    }

    fn is_gone(id: u32) -> bool {
        !Path::new(&format!("/proc/{id}")).exists()
    }

    #[test]
    fn an_exit_is_noticed_and_reaped() {
        let process = start("exit 7");
        assert_eq!(
            process.end(CLOSE_GRACE),
            (ServerExit::Code(7), Ending::ByItself)
        );
        assert!(is_gone(process.id()));
    }

    #[test]
    fn a_process_that_stays_is_killed() {
        let process = start("exec sleep 1000");
        assert_eq!(
            process.end(Duration::ZERO),
            (ServerExit::Signal(9), Ending::Killed)
        );
        assert!(is_gone(process.id()));
        // Ending it once more changes nothing.
        assert_eq!(process.end(CLOSE_GRACE).0, ServerExit::Signal(9));
    }
}
