//! Every key with its kind. `config/default.toml` explains them; a test keeps the two lists equal.

/// What a key's value must look like.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// A string.
    Text,
    /// A whole number.
    Integer,
    /// true or false.
    Flag,
    /// A string like "90s", "15m", "2h", "1d".
    Duration,
    /// A string like "04:00".
    TimeOfDay,
    /// An exact decimal in quotes.
    Decimal,
    /// Looked at by the check of that key.
    Special,
}

use Form::{Decimal, Duration, Flag, Integer, Special, Text, TimeOfDay};

pub(super) const KEYS: &[(&str, Form)] = &[
    ("version", Integer),
    ("secret.file", Text),
    ("ledger.file", Text),
    ("feed.id", Text),
    ("feed.format", Text),
    ("feed.time_zone", Text),
    ("feed.fields.card", Text),
    ("feed.fields.station", Text),
    ("feed.fields.time", Text),
    ("stations.file", Text),
    ("stations.gtfs", Text),
    ("window.length", Duration),
    ("window.day_start", TimeOfDay),
    ("window.slot", Duration),
    ("window.grace", Duration),
    ("window.close", Text),
    ("window.clock_margin", Duration),
    ("window.max_ahead", Duration),
    ("window.disorder", Duration),
    ("window.from", Special),
    ("window.to", Special),
    ("window.max_length", Integer),
    ("engine.name", Text),
    ("engine.epsilon", Decimal),
    ("engine.height", Integer),
    ("engine.threshold", Special),
    ("engine.allocation", Text),
    ("engine.input", Text),
    ("engine.max_nodes", Integer),
    ("engine.allow_unsound", Flag),
    ("engine.l", Integer),
    ("engine.k", Integer),
    ("engine.score", Integer),
    ("engine.weights.alpha", Special),
    ("engine.weights.beta", Special),
    ("engine.weights.gamma", Special),
    ("engine.weights.delta", Special),
    ("engine.breach", Special),
    ("engine.adversaries", Special),
    ("engine.max_work", Integer),
    ("engine.taxonomy.locations", Special),
    ("engine.taxonomy.times", Special),
    ("engine.taxonomy.fanout", Integer),
    ("engine.weave.favour", Text),
    ("trips.from", Text),
    ("budget.lifetime", Decimal),
    ("budget.horizon.windows", Integer),
    ("budget.horizon.cap", Decimal),
    ("budget.repeat", Text),
    ("kafka.brokers", Text),
    ("kafka.group", Text),
    ("kafka.instance", Text),
    ("kafka.protocol", Text),
    ("kafka.topics.taps", Text),
    ("kafka.topics.segments", Text),
    ("kafka.topics.ledger", Text),
    ("kafka.topics.releases", Text),
    ("kafka.topics.rejects", Text),
    ("kafka.connect_timeout", Duration),
    ("kafka.flush", Duration),
    ("kafka.properties", Special),
    ("release.dir", Text),
    ("release.not_before", TimeOfDay),
    ("release.title", Text),
    ("release.licence", Text),
    ("release.contact", Text),
    ("release.approved", Text),
    ("http.listen", Text),
    ("http.token_file", Text),
    ("log.format", Text),
    ("log.level", Text),
];

/// The known key that looks most like this one, if any does.
pub(super) fn nearest(unknown: &str) -> Option<&'static str> {
    let (distance, key) = KEYS.iter().map(|(key, _)| (distance(unknown, key), *key)).min()?;
    (distance <= 3).then_some(key)
}

/// How many single letters must change to make one word the other (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, other) in b.iter().enumerate() {
            let change = diagonal + usize::from(letter != *other);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_pen_finds_its_key() {
        assert_eq!(nearest("engine.epsilonn"), Some("engine.epsilon"));
        assert_eq!(nearest("window.day-start"), Some("window.day_start"));
        assert_eq!(nearest("something.else"), None);
    }

    #[test]
    fn the_commented_default_names_every_key() {
        let text = include_str!("../../config/default.toml");
        for (key, _) in KEYS {
            let name = key.rsplit('.').next().unwrap();
            assert!(
                text.contains(&format!("{name} = ")) || text.contains(&format!("{name}]")),
                "{key}"
            );
        }
    }
}
