//! `tapveil init DIR`: a starter configuration, a fresh secret, an empty ledger. Never overwrites.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rand::TryRng;
use rand::rngs::SysRng;

use super::Failure;
use super::failure::say;
use crate::clock::{Clock, SystemClock};
use crate::engine::{DEFAULT, Registry};
use crate::ledger::Journal;
use crate::secret::{SECRET_BYTES, Secret};

/// What `init` writes into every new configuration.
const STARTER: &str = include_str!("starter.toml");

#[derive(clap::Args)]
pub(super) struct Arguments {
    /// Where to put tapveil.toml, tapveil.secret and tapveil.ledger
    dir: PathBuf,
    /// Which engine; `tapveil config --default` lists them
    #[arg(long, value_name = "NAME", default_value = DEFAULT)]
    engine: String,
}

pub(super) fn run(arguments: &Arguments, registry: &Registry) -> Result<ExitCode, Failure> {
    let dir = &arguments.dir;
    let key = write_feed(dir, &starter(registry, &arguments.engine)?)?;
    say(&format!(
        "made tapveil.toml, tapveil.secret and tapveil.ledger in {}\n\
         releases of this feed are signed; hand this key to recipients (tapveil verify --key):\n  \
         {key}\n\
         next: put your stations into {}, edit tapveil.toml, then\n  \
         tapveil check -c {}",
        dir.display(),
        dir.join("stations.csv").display(),
        dir.join("tapveil.toml").display(),
    ));
    Ok(ExitCode::SUCCESS)
}

/// The starter configuration with the section of this engine.
pub(super) fn starter(registry: &Registry, name: &str) -> Result<String, Failure> {
    Ok(STARTER.replace("ENGINE\n", &engine_section(registry, name)?))
}

/// `[engine]` and `[engine.<name>]`, as far as a beginner needs them.
pub(super) fn engine_section(registry: &Registry, name: &str) -> Result<String, Failure> {
    let Some(engine) = registry.find(name) else {
        let known = registry.names().join(", ");
        return Err(Failure::usage(format!("{name:?} is not an engine; use one of {known}")));
    };
    let price = match engine.is_differential {
        true => {
            "epsilon = \"1.0\"                     # price of one release: smaller is more private and less exact\n"
        }
        false => "",
    };
    Ok(format!("[engine]\nname = \"{name}\"\n{price}\n{}", engine.starter))
}

fn there_already(path: &Path) -> Failure {
    Failure::usage(format!("{} is there already; init never overwrites", path.display()))
}

/// Writes configuration, secret and ledger, or complains that one is there already and writes nothing. Gives the public
/// key that releases will be signed with.
pub(super) fn write_feed(dir: &Path, configuration: &str) -> Result<String, Failure> {
    let [toml, secret, ledger] =
        ["tapveil.toml", "tapveil.secret", "tapveil.ledger"].map(|name| dir.join(name));
    // A link that leads nowhere is somebody's, too.
    let is_there = |path: &&&PathBuf| fs::symlink_metadata(path).is_ok();
    if let Some(there) = [&toml, &secret, &ledger].iter().find(is_there) {
        return Err(there_already(there));
    }
    let failed = |path: &Path, error: std::io::Error| {
        Failure::external(format!("cannot write {}: {error}", path.display()))
    };
    fs::create_dir_all(dir).map_err(|error| failed(dir, error))?;
    let mut bytes = [0; SECRET_BYTES];
    SysRng
        .try_fill_bytes(&mut bytes)
        .map_err(|error| Failure::external(format!("the system gives no randomness: {error}")))?;
    let made = Secret::from_bytes(&bytes).expect("32 bytes make a secret");
    let (key, public_key) = (made.ledger_key(), made.signer().public_key());
    // Each is made anew or not at all; what another process made meanwhile is not ours to take away.
    let mut made: Vec<&Path> = Vec::new();
    let make = |path: &Path, write: &dyn Fn(&Path) -> std::io::Result<()>| {
        write(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::AlreadyExists => there_already(path),
            _ => failed(path, error),
        })
    };
    let written = [
        (
            secret.as_path(),
            &(|path: &Path| create(path, 0o600, &bytes)) as &dyn Fn(&Path) -> std::io::Result<()>,
        ),
        (ledger.as_path(), &|path: &Path| Journal::create(path, &key, SystemClock.now())),
        (toml.as_path(), &|path: &Path| create(path, 0o644, configuration.as_bytes())),
    ]
    .into_iter()
    .try_for_each(|(path, write)| {
        make(path, write)?;
        made.push(path);
        Ok(())
    })
    // The names are as durable as what they name.
    .and_then(|()| {
        let synced = fs::File::open(dir).and_then(|entries| entries.sync_all());
        synced.map_err(|error| failed(dir, error))
    });
    if written.is_err() {
        // All or nothing: a secret without its ledger would only confuse the next try.
        for path in made {
            fs::remove_file(path).ok();
        }
    }
    written.map(|()| public_key)
}

fn create(path: &Path, mode: u32, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    if written.is_err() {
        fs::remove_file(path).ok();
    }
    written
}
