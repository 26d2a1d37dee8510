//! A configuration key, declared once: its type, default, unit and reason.
//!
//! In → out: one [`keys!`](crate::keys) declaration → a struct, a reader that gathers all complaints, and what
//!   `config/default.toml`, the JSON Schema and the README's table are made of.
//! Promises: D-1 a struct that was read holds no wrong value; D-2 every key is read before any complaint ends the
//! reading.
//! Refuses: values that a key's type cannot hold, each with what to write instead.
//! Why: decision 0012 (configuration declared once). Reading key by key instead of deriving `Deserialize` for the
//! struct:
//!   a derived reader stops at the first mistake.

mod leaf;
mod values;

pub use leaf::{Epsilon, Fraction, Leaf, Names, Positive, Whole, refuse_word};
pub use values::{Complaint, Values, inline};

use serde_json::Value;

/// Whether a key may be left out.
#[derive(Clone, PartialEq, Debug)]
pub enum Presence {
    /// Left out, it has this value.
    Default(Value),
    /// It must be written; this is an example.
    Required(Value),
    /// Left out, it means what the reason says; this is an example.
    Optional(Value),
}

/// One key.
#[derive(Clone, Debug)]
pub struct Key {
    /// Its name in its section.
    pub name: &'static str,
    /// Unit and reason, in one or a few sentences.
    pub about: String,
    /// Whether it may be left out.
    pub presence: Presence,
    /// JSON Schema of its value.
    pub schema: Value,
}

/// The keys of one table of the configuration.
#[derive(Clone, Debug)]
pub struct Section {
    /// Its dotted name, e.g. `engine.safepath`; empty for the top.
    pub path: String,
    /// What it is about.
    pub about: String,
    /// Its keys.
    pub keys: Vec<Key>,
}

impl Section {
    /// The section of this struct at this path.
    pub fn of<T: Declared>(path: &str) -> Self {
        Self { path: path.to_owned(), about: T::about(), keys: T::keys() }
    }
}

/// What [`keys!`](crate::keys) makes of a declaration.
pub trait Declared: Sized {
    /// What the section is about.
    fn about() -> String;

    /// Its keys, in order.
    fn keys() -> Vec<Key>;

    /// Reads every key; `None` after at least one complaint.
    fn read(values: &mut Values<'_>) -> Option<Self>;
}

/// Joins the lines of a doc comment.
pub fn joined(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// Declares the keys of a section. Each key has a doc comment (unit and reason), a [`Leaf`] type, and one of
/// `default(value)`, `required(example)`, `optional(example)`. `include` takes over the keys of another declaration.
#[macro_export]
macro_rules! keys {
    (
        $(#[doc = $about:literal])+
        $vis:vis struct $name:ident {
            $( include $part:ident: $included:ty; )*
            $( $(#[doc = $why:literal])+ $field:ident: $type:ty = $presence:ident($($value:tt)+); )*
        }
    ) => {
        $(#[doc = $about])+
        #[derive(Clone, PartialEq, Debug)]
        $vis struct $name {
            $( #[doc = "The keys that it has in common with others."] $vis $part: $included, )*
            $( $(#[doc = $why])+ $vis $field: $crate::keys!(@held $presence $type), )*
        }

        impl $crate::declare::Declared for $name {
            fn about() -> String {
                $crate::declare::joined(&[$($about),+])
            }

            fn keys() -> Vec<$crate::declare::Key> {
                let own: Vec<$crate::declare::Key> = vec![$( $crate::declare::Key {
                    name: stringify!($field),
                    about: $crate::declare::joined(&[$($why),+]),
                    presence: $crate::keys!(@presence $presence serde_json::json!($($value)+)),
                    schema: <$type as $crate::declare::Leaf>::schema(),
                } ),*];
                [$( <$included as $crate::declare::Declared>::keys(), )* own].concat()
            }

            fn read(values: &mut $crate::declare::Values<'_>) -> Option<Self> {
                $( let $part = <$included as $crate::declare::Declared>::read(values); )*
                $( let $field = $crate::keys!(@read $presence values, stringify!($field), $type, $($value)+); )*
                Some(Self { $( $part: $part?, )* $( $field: $field?, )* })
            }
        }
    };
    (@held optional $type:ty) => { Option<$type> };
    (@held $presence:ident $type:ty) => { $type };
    (@presence default $value:expr) => { $crate::declare::Presence::Default($value) };
    (@presence required $value:expr) => { $crate::declare::Presence::Required($value) };
    (@presence optional $value:expr) => { $crate::declare::Presence::Optional($value) };
    (@read default $values:ident, $name:expr, $type:ty, $($value:tt)+) => {
        $values.or_default::<$type>($name, &serde_json::json!($($value)+))
    };
    (@read required $values:ident, $name:expr, $type:ty, $($value:tt)+) => {
        $values.required::<$type>($name, &serde_json::json!($($value)+))
    };
    (@read optional $values:ident, $name:expr, $type:ty, $($value:tt)+) => {
        $values.optional::<$type>($name)
    };
}

/// Declares an enum whose values are words of the configuration.
#[macro_export]
macro_rules! words {
    (
        $(#[$outer:meta])*
        $vis:vis enum $name:ident {
            $( $(#[$inner:meta])* $variant:ident = $word:literal, )+
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        $vis enum $name { $( $(#[$inner])* $variant, )+ }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(match self { $( Self::$variant => $word, )+ })
            }
        }

        impl $crate::declare::Leaf for $name {
            fn read(value: &serde_json::Value) -> Result<Self, String> {
                match value.as_str() {
                    $( Some($word) => Ok(Self::$variant), )+
                    _ => Err($crate::declare::refuse_word(value, &[$($word),+])),
                }
            }

            fn schema() -> serde_json::Value {
                serde_json::json!({ "enum": [$($word),+] })
            }
        }
    };
}

#[cfg(test)]
mod tests;
