//! `tapveil secret rotate`: a new epoch of keys; the old ones are destroyed, the ledger goes on.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;

use rand::TryRng;
use rand::rngs::SysRng;

use super::failure::say;
use super::{ConfigArgument, Failure};
use crate::clock::SystemClock;
use crate::config;
use crate::engine::Registry;
use crate::ledger::Declaration;
use crate::pipeline::books;
use crate::secret::SECRET_BYTES;

#[derive(clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Replace the keys that hide cards and draw noise; nobody can undo or repeat earlier releases any more
    Rotate(RotateArguments),
}

#[derive(clap::Args)]
struct RotateArguments {
    #[command(flatten)]
    config: ConfigArgument,
    /// For a live feed: every process is stopped, and no window is open or waits for its release. What is on its way
    /// cannot be read afterwards
    #[arg(long)]
    drained: bool,
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let Command::Rotate(rotate) = &arguments.command;
    let settings = config::load_with(&rotate.config.config, registry)?;
    if settings.kafka.is_some() && !rotate.drained {
        return Err(Failure::usage(
            "taps on their way are sealed with the old keys and could not be read any more: stop every process between two \
             windows, when nothing waits for its release, then run this again with --drained"
                .to_owned(),
        ));
    }
    let (book, _) = books::book(&settings)?;
    if let Some(open) = book.entries().iter().find(|entry| entry.settled.is_none()) {
        return Err(Failure::usage(format!(
            "the window from {} to {} was paid for and is not released yet, and could never be with other keys: finish it \
             first (the same command with the same taps costs nothing)",
            open.start, open.end
        )));
    }
    let mut fresh = [0; SECRET_BYTES];
    SysRng
        .try_fill_bytes(&mut fresh)
        .map_err(|error| Failure::external(format!("the system gives no randomness: {error}")))?;
    let (path, epoch) = (&settings.secret_file, settings.secret.epoch() + 1);
    // The record comes first: a crash in between leaves the old secret with a ledger that it can still read.
    books::declare(&settings, &Declaration::Rotate { epoch }, &SystemClock)?;
    replace(path, settings.secret.rotated(&fresh).as_bytes())
        .map_err(|error| Failure::external(format!("cannot write {}: {error}", path.display())))?;
    say(&format!(
        "the secret has epoch {epoch}: the ledger and the signature go on, releases of earlier epochs can be neither undone \
         nor repeated.\nDestroy every copy and backup of the old {}; make a backup of the new one",
        path.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// Writes the new secret aside, forces it to disk, and overwrites the old bytes before they go.
fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let partial = path.with_extension("secret.partial");
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&partial)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    let old_length = fs::metadata(path)?.len();
    let old = OpenOptions::new().write(true).open(path)?;
    fs::rename(&partial, path)?;
    // Best effort: a disk may keep what a file system has overwritten.
    let mut old = old;
    let zeros = vec![0; usize::try_from(old_length).unwrap_or(0)];
    old.write_all(&zeros).and_then(|()| old.sync_all()).ok();
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    fs::File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}
