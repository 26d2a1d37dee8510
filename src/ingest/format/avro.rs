//! Avro: messages in Confluent's wire form (a zero, the schema's number in four bytes, the record). The writer's schema
//! comes from a registry or a file; without either it is a record of texts with the feed's own field names.

mod plan;
#[cfg(feature = "kafka")]
mod registry;
mod schema;
mod write;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use self::plan::Plan;
use self::schema::Schema;
use super::json::Tree;
use super::{Below, Format, Mapping, MissingColumns, Outage, Registration, Wanted};
use crate::declare::{Declared, Section, Values, Whole};
use crate::ingest::RECORD_BYTES_MAX;
use crate::model::{Digest, Reject};
use crate::passenger::Picked;

pub(super) const REGISTRATION: Registration = Registration {
    name: "avro",
    about: "Avro messages in Confluent's wire form, with a schema registry or a schema file; a file is an Avro container",
    sections: || vec![Section::of::<AvroKeys>("feed.avro")],
    build,
};

crate::keys! {
    /// For feed.format = "avro". Without schema and registry: a record of texts that has the feed's own field names.
    pub(super) struct AvroKeys {
        /// the writer's schema (.avsc): every message is read with it, whatever number it has in front, unless there
        /// is a registry; what `replay` and `generate` write
        schema: String = optional("tap.avsc");
        /// the number that `replay` and `generate` put in front of a message
        id: Whole<0, 4294967295> = default(1);
        /// address of a schema registry; https needs a build with `--features tls`
        registry: String = optional("https://registry:8081");
        /// its user; the password stands in registry_password_file
        registry_user: String = optional("tapveil");
        /// one line; never shown
        registry_password_file: String = optional("registry.password");
        /// certificates of authorities (PEM) that are trusted instead of the system's
        registry_ca_file: String = optional("ca.pem");
        /// seconds to go on asking a registry that does not answer; then the service ends with exit 3 and loses nothing
        registry_patience: Whole<0, 3600> = default(60);
    }
}

fn build(values: &mut Values<'_>, mapping: Mapping, base: &Path) -> Option<Arc<dyn Format>> {
    let keys = AvroKeys::read(&mut values.below("avro"))?;
    let mut values = values.below("avro");
    let (wanted, tree) = (Wanted::new(&mapping), Tree::of(&Wanted::new(&mapping).names));
    let own = match &keys.schema {
        None => own_schema(&tree).to_string(),
        Some(name) => match std::fs::read_to_string(base.join(name)) {
            Ok(text) => text,
            Err(error) => {
                values.complain(
                    "schema",
                    format_args!("cannot read {}: {error}", base.join(name).display()),
                );
                return None;
            }
        },
    };
    let schema = Schema::read(&own, &[]).map_err(|what| values.complain("schema", what)).ok()?;
    let source = source(&keys, base, &mut values)?;
    let own = Arc::new(Plan::new(schema, &wanted, &tree));
    let id = u32::try_from(keys.id.get()).unwrap_or(u32::MAX);
    let identity = match (&source, &keys.schema) {
        (Source::Registry(_), _) => "registry".to_owned(),
        (Source::Own, Some(name)) => {
            let text = std::fs::read(base.join(name)).unwrap_or_default();
            format!("schema {}", Digest::of(&text))
        }
        (Source::Own, None) => "own".to_owned(),
    };
    let writes = keys.schema.is_some() || matches!(source, Source::Own);
    Some(Arc::new(Avro { mapping, wanted, tree, own, id, source, identity, writes }))
}

#[cfg(feature = "kafka")]
fn source(keys: &AvroKeys, base: &Path, values: &mut Values<'_>) -> Option<Source> {
    let Some(url) = &keys.registry else {
        let orphan = keys.registry_user.is_some() || keys.registry_password_file.is_some();
        if orphan || keys.registry_ca_file.is_some() {
            values.complain("registry", "is missing, but its user, password or authority is there");
            return None;
        }
        return Some(Source::Own);
    };
    let login = match (&keys.registry_user, &keys.registry_password_file) {
        (None, None) => None,
        (Some(user), Some(name)) => match std::fs::read_to_string(base.join(name)) {
            Ok(password) => {
                Some((user.clone(), password.trim_end_matches(['\r', '\n']).to_owned()))
            }
            Err(error) => {
                let path = base.join(name);
                values.complain(
                    "registry_password_file",
                    format_args!("cannot read {}: {error}", path.display()),
                );
                return None;
            }
        },
        _ => {
            values.complain("registry_user", "and registry_password_file go together");
            return None;
        }
    };
    let authority = keys.registry_ca_file.as_ref().map(|name| base.join(name));
    let patience = std::time::Duration::from_secs(keys.registry_patience.get());
    match registry::Registry::new(url, login, authority.as_deref(), patience) {
        Ok(registry) => Some(Source::Registry(Arc::new(Cache::new(registry)))),
        Err((key, what)) => {
            values.complain(key, what);
            None
        }
    }
}

#[cfg(not(feature = "kafka"))]
fn source(keys: &AvroKeys, _: &Path, values: &mut Values<'_>) -> Option<Source> {
    if keys.registry.is_some() {
        values.complain(
            "registry",
            "needs a build with the feature kafka: a file carries its own schema",
        );
        return None;
    }
    Some(Source::Own)
}

/// Where the schemas of messages come from.
#[derive(Clone, Debug)]
enum Source {
    /// One for all.
    Own,
    #[cfg(feature = "kafka")]
    Registry(Arc<Cache>),
    #[cfg(not(feature = "kafka"))]
    #[expect(dead_code, reason = "a build without Kafka has no registry")]
    Registry(std::convert::Infallible),
}

/// Avro messages.
#[derive(Clone, Debug)]
struct Avro {
    mapping: Mapping,
    wanted: Wanted,
    tree: Tree,
    /// The schema of this feed's own messages.
    own: Arc<Plan>,
    id: u32,
    source: Source,
    identity: String,
    writes: bool,
}

/// In front of every message.
const MAGIC: u8 = 0;
const FRONT_BYTES: usize = 5;

/// The schema's number, and the record.
fn parted(message: &[u8]) -> Result<(u32, &[u8]), Reject> {
    if message.is_empty() {
        return Err(Reject::Empty);
    }
    if message.len() > RECORD_BYTES_MAX {
        return Err(Reject::TooLong);
    }
    let (front, record) = message.split_at_checked(FRONT_BYTES).ok_or(Reject::Malformed)?;
    match front {
        [MAGIC, a, b, c, d] => Ok((u32::from_be_bytes([*a, *b, *c, *d]), record)),
        _ => Err(Reject::Malformed),
    }
}

impl Format for Avro {
    fn mapping(&self) -> &Mapping {
        &self.mapping
    }

    /// A container is known before any format is asked; a message has no beginning of its own.
    fn recognizes(&self, first: &[u8]) -> bool {
        first.first() == Some(&MAGIC)
    }

    fn has_header(&self, _: &[u8]) -> bool {
        false
    }

    fn below(&self, _: &str) -> Result<Below, MissingColumns> {
        Ok(Below { format: Arc::new(self.clone()), is_like_messages: true })
    }

    fn header(&self) -> Option<Vec<u8>> {
        None
    }

    fn prepare(&self, message: &[u8]) -> Result<(), Outage> {
        match &self.source {
            Source::Own => Ok(()),
            #[cfg(feature = "kafka")]
            Source::Registry(cache) => match parted(message) {
                Ok((id, _)) => cache.learn(id, &self.wanted, &self.tree),
                Err(_) => Ok(()),
            },
            #[cfg(not(feature = "kafka"))]
            Source::Registry(never) => match *never {},
        }
    }

    fn pick<'a>(&self, message: &'a [u8]) -> Result<Picked<'a>, Reject> {
        #[cfg_attr(not(feature = "kafka"), expect(unused_variables, reason = "one schema for all"))]
        let (id, record) = parted(message)?;
        match &self.source {
            Source::Own => self.own.pick(record, &self.wanted),
            #[cfg(feature = "kafka")]
            Source::Registry(cache) => {
                cache.plan(id).ok_or(Reject::UnknownSchema)?.pick(record, &self.wanted)
            }
            #[cfg(not(feature = "kafka"))]
            Source::Registry(never) => match *never {},
        }
    }

    fn encode(&self, picked: &Picked<'_>) -> Vec<u8> {
        let mut message = Vec::with_capacity(96);
        message.push(MAGIC);
        message.extend(self.id.to_be_bytes());
        let schema = self.own.schema();
        let value = |index: usize| self.wanted.value(picked, index);
        write::write(schema, schema.root, Some(&self.tree), &value, &mut message);
        message
    }

    fn identity(&self) -> Option<String> {
        Some(self.identity.clone())
    }

    fn writes(&self) -> Result<(), &'static str> {
        match self.writes {
            true => Ok(()),
            false => Err(
                "feed.avro.schema: is needed to write messages; a registry alone says only how to read them",
            ),
        }
    }
}

/// A record of texts, each of which may be missing.
fn own_schema(tree: &Tree) -> Value {
    fn record(tree: &Tree, name: &str) -> Value {
        let field = |(number, (label, below)): (usize, &(String, Tree))| {
            let one = match below.below.is_empty() {
                true => json!(["null", "string"]),
                false => record(below, &format!("{name}_{number}")),
            };
            json!({ "name": label, "type": one })
        };
        let fields: Vec<Value> = tree.below.iter().enumerate().map(field).collect();
        json!({ "type": "record", "name": name, "fields": fields })
    }
    record(tree, "tap")
}

/// Schemas of a registry that were asked for already.
#[cfg(feature = "kafka")]
#[derive(Debug)]
struct Cache {
    registry: registry::Registry,
    plans: std::sync::RwLock<std::collections::HashMap<u32, Known>>,
}

#[cfg(feature = "kafka")]
#[derive(Clone, Debug)]
enum Known {
    Plan(Arc<Plan>),
    /// The registry had none then.
    Nothing(std::time::Instant),
}

#[cfg(feature = "kafka")]
impl Cache {
    /// A number that the registry did not know is asked for again after so long: a schema may come later.
    const ASK_AGAIN: std::time::Duration = std::time::Duration::from_secs(30);
    /// Garbage can name any number; more than so many are forgotten.
    const MOST: usize = 10_000;

    fn new(registry: registry::Registry) -> Self {
        Self { registry, plans: std::sync::RwLock::default() }
    }

    fn known(&self, id: u32) -> Option<Known> {
        let plans = self.plans.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        plans.get(&id).cloned()
    }

    fn plan(&self, id: u32) -> Option<Arc<Plan>> {
        match self.known(id)? {
            Known::Plan(plan) => Some(plan),
            Known::Nothing(_) => None,
        }
    }

    fn learn(&self, id: u32, wanted: &Wanted, tree: &Tree) -> Result<(), Outage> {
        match self.known(id) {
            Some(Known::Plan(_)) => return Ok(()),
            Some(Known::Nothing(when)) if when.elapsed() < Self::ASK_AGAIN => return Ok(()),
            _ => {}
        }
        let found = match self.registry.schema(id)? {
            Some(schema) => Known::Plan(Arc::new(Plan::new(Schema::clone(&schema), wanted, tree))),
            None => Known::Nothing(std::time::Instant::now()),
        };
        let mut plans = self.plans.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        if plans.len() >= Self::MOST {
            plans.retain(|_, known| matches!(known, Known::Plan(_)));
        }
        plans.insert(id, found);
        Ok(())
    }
}

/// A plan for the records of a container, whose schema stands in it.
pub(in crate::ingest) struct ContainerPlan {
    plan: Plan,
    wanted: Wanted,
}

impl ContainerPlan {
    pub(in crate::ingest) fn new(schema: &str, mapping: &Mapping) -> Result<Self, String> {
        let wanted = Wanted::new(mapping);
        let tree = Tree::of(&wanted.names);
        Ok(Self { plan: Plan::new(Schema::read(schema, &[])?, &wanted, &tree), wanted })
    }

    /// Every record of a block, until `look` has seen enough; false: it has.
    pub(in crate::ingest) fn each(
        &self,
        n_records: u64,
        bytes: &[u8],
        look: &mut dyn FnMut(&mut Picked<'_>) -> bool,
    ) -> Result<bool, Reject> {
        let mut data = plan::Data { bytes };
        for _ in 0..n_records {
            let mut picked = self.plan.next(&mut data, &self.wanted)?;
            if !look(&mut picked) {
                return Ok(false);
            }
        }
        if data.bytes.is_empty() { Ok(true) } else { Err(Reject::Malformed) }
    }
}

/// Numbers and texts of a container's header, in the same form as those of a record.
pub(in crate::ingest) use plan::Data as AvroData;

#[cfg(test)]
mod tests;
