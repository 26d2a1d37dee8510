//! Where wanted members stand in an object. A name is a member of the record itself; a name that begins with a slash is
//! a way into nested objects, as in RFC 6901 (`/payload/card/id`, with `~1` for a slash and `~0` for a tilde).

use serde_json::{Map, Value};

use super::Found;

/// An object, or a member of one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(in super::super) struct Tree {
    /// The wanted names that lead here.
    pub(in super::super) indexes: Vec<usize>,
    /// Members by name.
    pub(in super::super) below: Vec<(String, Tree)>,
}

impl Tree {
    /// For these names, in their order.
    pub(in super::super) fn of(names: &[String]) -> Self {
        let mut tree = Self::default();
        for (index, name) in names.iter().enumerate() {
            let mut at = &mut tree;
            for step in steps(name) {
                let known = at.below.iter().position(|(one, _)| *one == step);
                let place = known.unwrap_or_else(|| {
                    at.below.push((step, Self::default()));
                    at.below.len() - 1
                });
                at = &mut at.below[place].1;
            }
            at.indexes.push(index);
        }
        tree
    }

    /// Whether every wanted member is one of the record itself, each wanted once.
    pub(in super::super) fn is_flat(&self) -> bool {
        self.below.iter().all(|(name, tree)| {
            tree.below.is_empty() && tree.indexes.len() == 1 && !name.starts_with('/')
        })
    }

    /// A member that is wanted and leads to wanted members, too.
    pub(in super::super) fn contradiction(&self) -> Option<&str> {
        self.below.iter().find_map(|(name, tree)| {
            let is_both = !tree.indexes.is_empty() && !tree.below.is_empty();
            if is_both { Some(name.as_str()) } else { tree.contradiction() }
        })
    }

    pub(in super::super) fn find(&self, name: &str) -> Option<&Self> {
        self.below.iter().find(|(one, _)| one.as_bytes() == name.as_bytes()).map(|(_, tree)| tree)
    }

    /// Keeps a value under every name that leads here.
    pub(in super::super) fn put<'a>(
        &self,
        value: Option<std::borrow::Cow<'a, str>>,
        found: &mut Found<'a>,
    ) {
        for index in &self.indexes {
            found[*index].clone_from(&value);
        }
    }

    /// An object with the values of the wanted names.
    pub(in super::super) fn written<'a>(&self, value: &impl Fn(usize) -> Option<&'a str>) -> Value {
        let mut object = Map::new();
        for (name, tree) in &self.below {
            let text = tree.indexes.iter().find_map(|index| value(*index));
            match (tree.below.is_empty(), text) {
                (false, _) => drop(object.insert(name.clone(), tree.written(value))),
                (true, Some(text)) => drop(object.insert(name.clone(), Value::from(text))),
                (true, None) => {}
            }
        }
        Value::Object(object)
    }
}

/// The names on the way to a member.
fn steps(name: &str) -> Vec<String> {
    match name.strip_prefix('/') {
        None => vec![name.to_owned()],
        Some(way) => {
            way.split('/').map(|step| step.replace("~1", "/").replace("~0", "~")).collect()
        }
    }
}
