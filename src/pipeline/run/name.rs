//! Who this process is to the brokers. A transaction that nobody ended is ended by whoever comes next under the same
//! name, so a process without `kafka.instance` keeps one beside the secret and takes over that of a process that died.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rand::TryRng;
use rand::rngs::SysRng;
use sha2::{Digest as _, Sha256};

use crate::kafka;

/// Processes that share a secret on one machine.
const MOST: usize = 1_000;

/// A name that nobody else has while this lives.
#[derive(Debug)]
pub struct Name {
    text: String,
    /// The kept token, locked.
    _held: Option<File>,
    /// Why the name ends with the process, if it does and should not.
    lost_with_us: Option<io::Error>,
}

impl Name {
    /// The configured instance, or the first name beside the secret that no process holds.
    pub fn of(kafka: &kafka::Settings, secret: &Path) -> Self {
        if let Some(instance) = &kafka.instance {
            return Self { text: instance.clone(), _held: None, lost_with_us: None };
        }
        match kept_beside(secret) {
            Ok((token, held)) => {
                Self { text: name_of(&token), _held: Some(held), lost_with_us: None }
            }
            Err(error) => Self { lost_with_us: Some(error), ..Self::for_once() },
        }
    }

    /// For a process whose brokers end with it.
    pub fn for_once() -> Self {
        Self { text: name_of(&token()), _held: None, lost_with_us: None }
    }

    /// The name.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Why nobody can take it over.
    pub fn lost_with_us(&self) -> Option<&io::Error> {
        self.lost_with_us.as_ref()
    }
}

type Token = [u8; 16];

fn token() -> Token {
    let mut token = Token::default();
    SysRng
        .try_fill_bytes(&mut token)
        .expect("the system always has randomness once it has started");
    token
}

/// A folder that was copied to another machine must not give two processes one name: they would fence each other for
/// ever.
fn name_of(token: &Token) -> String {
    let mut hasher = Sha256::new();
    hasher.update(token);
    for machine in ["/etc/machine-id", "/proc/sys/kernel/hostname"] {
        hasher.update(std::fs::read(machine).unwrap_or_default());
    }
    hasher.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

fn kept_beside(secret: &Path) -> io::Result<(Token, File)> {
    for n in 0..MOST {
        let mut path = secret.as_os_str().to_owned();
        path.push(format!(".worker-{n}"));
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(path)?;
        match file.try_lock() {
            Ok(()) => return Ok((kept_in(&mut file)?, file)),
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(error),
        }
    }
    Err(io::Error::other(format!("{MOST} processes have a name already")))
}

/// What is in the file, or something new if it holds no token.
fn kept_in(file: &mut File) -> io::Result<Token> {
    let mut kept = Vec::new();
    file.read_to_end(&mut kept)?;
    if let Ok(token) = kept.try_into() {
        return Ok(token);
    }
    let token = token();
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(&token)?;
    file.sync_all()?;
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(secret: &Path) -> Name {
        let (token, held) = kept_beside(secret).unwrap();
        Name { text: name_of(&token), _held: Some(held), lost_with_us: None }
    }

    #[test]
    fn a_name_is_held_by_one_process_and_taken_over_by_the_next() {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("tapveil.secret");
        let (first, second) = (kept(&secret), kept(&secret));
        assert_ne!(first.text(), second.text());
        assert_eq!(first.text().len(), 16);
        let (old, other) = (first.text().to_owned(), second.text().to_owned());
        drop(first);
        assert_eq!(kept(&secret).text(), old);
        drop(second);
        let (again, third) = (kept(&secret), kept(&secret));
        assert_eq!((again.text(), third.text()), (&*old, &*other));
    }

    #[test]
    fn half_a_name_is_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("tapveil.secret");
        std::fs::write(dir.path().join("tapveil.secret.worker-0"), "half").unwrap();
        let name = kept(&secret).text().to_owned();
        assert_eq!(kept(&secret).text(), name);
    }

    #[test]
    fn where_nothing_can_be_kept_a_name_is_for_once() {
        let gone = Path::new("/nowhere/at/all/tapveil.secret");
        assert_eq!(kept_beside(gone).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_ne!(Name::for_once().text(), Name::for_once().text());
    }
}
