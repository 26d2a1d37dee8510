//! A schema registry (Confluent's interface): schemas by number, asked once and remembered.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;
use ureq::Agent;

use super::super::Outage;
use super::schema::Schema;

/// One question takes at most so long.
const ANSWER: Duration = Duration::from_secs(10);
/// The first wait after a failure; each is twice the one before, up to a few seconds.
const FIRST_WAIT: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// A schema is not longer.
const ANSWER_BYTES: u64 = 4 << 20;
/// References go no deeper.
const DEPTH_MAX: usize = 16;

/// How a registry is reached.
pub(super) struct Registry {
    url: String,
    authorization: Option<String>,
    agent: Agent,
    /// How long to go on asking.
    patience: Duration,
}

impl std::fmt::Debug for Registry {
    /// Never the password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registry").field("url", &self.url).finish_non_exhaustive()
    }
}

/// Why a question has no answer.
enum Failure {
    /// There is no such thing.
    Unknown,
    /// Asking again may help.
    Passing(String),
    /// It will not.
    Final(String),
}

impl Registry {
    /// All that is wrong is a complaint about a key.
    pub(super) fn new(
        url: &str,
        login: Option<(String, String)>,
        authority: Option<&Path>,
        patience: Duration,
    ) -> Result<Self, (&'static str, String)> {
        let is_https = url.starts_with("https://");
        if !is_https && !url.starts_with("http://") {
            return Err((
                "registry",
                format!("{url:?} is not an address like \"https://registry:8081\""),
            ));
        }
        if is_https && !cfg!(feature = "tls") {
            return Err(("registry", "https needs a build with `--features tls`".to_owned()));
        }
        let config = Agent::config_builder()
            .timeout_global(Some(ANSWER))
            .http_status_as_error(false)
            .proxy(None);
        #[cfg(feature = "tls")]
        let config = config.tls_config(tls(authority)?);
        #[cfg(not(feature = "tls"))]
        if authority.is_some() {
            return Err(("registry_ca_file", "needs a build with `--features tls`".to_owned()));
        }
        let authorization = login.map(|(user, password)| {
            format!("Basic {}", BASE64.encode(format!("{user}:{password}")))
        });
        let (url, agent) = (url.trim_end_matches('/').to_owned(), config.build().into());
        Ok(Self { url, authorization, agent, patience })
    }

    /// The schema with this number; `None` if there is none. Goes on asking while the registry does not answer.
    pub(super) fn schema(&self, id: u32) -> Result<Option<Arc<Schema>>, Outage> {
        let (began, mut wait) = (Instant::now(), FIRST_WAIT);
        loop {
            let why = match self.fetch(id) {
                Ok(schema) => return Ok(Some(Arc::new(schema))),
                Err(Failure::Unknown) => return Ok(None),
                Err(Failure::Final(why)) => why,
                Err(Failure::Passing(why)) if began.elapsed() + wait > self.patience => why,
                Err(Failure::Passing(_)) => {
                    std::thread::sleep(wait);
                    wait = (wait * 2).min(LONGEST_WAIT);
                    continue;
                }
            };
            return Err(Outage(format!(
                "the schema registry at {} gave no schema {id} (feed.avro.registry): {why}. No tap is lost: what was not \
                 decoded is read again at the next start",
                self.url
            )));
        }
    }

    fn fetch(&self, id: u32) -> Result<Schema, Failure> {
        let answer = self.ask(&format!("/schemas/ids/{id}"))?;
        let mut others = Vec::new();
        self.references(&answer, &mut others, 0)?;
        let text = answer.get("schema").and_then(Value::as_str);
        let text = text.ok_or_else(|| Failure::Final("its answer holds no schema".to_owned()))?;
        if answer.get("schemaType").and_then(Value::as_str).is_some_and(|kind| kind != "AVRO") {
            return Err(Failure::Unknown);
        }
        Schema::read(text, &others)
            .map_err(|what| Failure::Final(format!("it cannot be read: {what}")))
    }

    /// The texts of all schemas that this one builds on, those that others build on first.
    fn references(
        &self,
        answer: &Value,
        others: &mut Vec<String>,
        depth: usize,
    ) -> Result<(), Failure> {
        if depth > DEPTH_MAX {
            return Err(Failure::Final("its references go in a circle".to_owned()));
        }
        let list = answer.get("references").and_then(Value::as_array);
        for reference in list.into_iter().flatten() {
            let subject = reference.get("subject").and_then(Value::as_str).unwrap_or_default();
            let version = reference.get("version").and_then(Value::as_u64).unwrap_or_default();
            let subject: String = subject.bytes().map(escaped).collect();
            let answer = self.ask(&format!("/subjects/{subject}/versions/{version}"))?;
            self.references(&answer, others, depth + 1)?;
            let text = answer.get("schema").and_then(Value::as_str).unwrap_or_default();
            if !others.iter().any(|known| known == text) {
                others.push(text.to_owned());
            }
        }
        Ok(())
    }

    fn ask(&self, way: &str) -> Result<Value, Failure> {
        let mut question = self.agent.get(format!("{}{way}", self.url));
        if let Some(authorization) = &self.authorization {
            question = question.header("Authorization", authorization);
        }
        let passing = |error: ureq::Error| Failure::Passing(error.to_string());
        let mut answer = question.call().map_err(passing)?;
        let status = answer.status().as_u16();
        match status {
            200 => {}
            404 => return Err(Failure::Unknown),
            401 | 403 => {
                return Err(Failure::Final(format!(
                    "it refused us ({status}): feed.avro.registry_user or its password is wrong"
                )));
            }
            400..=428 => return Err(Failure::Final(format!("it answered {status}"))),
            _ => return Err(Failure::Passing(format!("it answered {status}"))),
        }
        let text = answer
            .body_mut()
            .with_config()
            .limit(ANSWER_BYTES)
            .read_to_string()
            .map_err(passing)?;
        serde_json::from_str(&text).map_err(|_| {
            Failure::Final("its answer is not JSON: is it a schema registry?".to_owned())
        })
    }
}

/// A byte of a path.
fn escaped(byte: u8) -> String {
    match byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    }
}

/// Trusts what the system trusts, or the authorities of a file alone.
#[cfg(feature = "tls")]
fn tls(authority: Option<&Path>) -> Result<ureq::tls::TlsConfig, (&'static str, String)> {
    use ureq::tls::{PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};
    let roots = match authority {
        None => RootCerts::PlatformVerifier,
        Some(path) => {
            let refuse = |what: String| ("registry_ca_file", format!("{}: {what}", path.display()));
            let text = std::fs::read(path).map_err(|error| refuse(error.to_string()))?;
            let mut found = Vec::new();
            for item in parse_pem(&text) {
                if let PemItem::Certificate(one) =
                    item.map_err(|error| refuse(error.to_string()))?
                {
                    found.push(one);
                }
            }
            if found.is_empty() {
                return Err(refuse("holds no certificate".to_owned()));
            }
            RootCerts::from(found)
        }
    };
    let crypto = Arc::new(rustls::crypto::ring::default_provider());
    Ok(TlsConfig::builder()
        .provider(TlsProvider::Rustls)
        .unversioned_rustls_crypto_provider(crypto)
        .root_certs(roots)
        .build())
}
