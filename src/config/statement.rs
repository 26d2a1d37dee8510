//! The privacy officer's page: what a configuration promises and costs, in words, with a digest to sign.
//!
//! From the configuration alone. `release.approved` holds the digest of the text that was signed; with it `run`,
//! `demo` and
//! `sanitize` refuse any other.

use std::fmt::Write;

use super::Settings;
use crate::model::{Digest, MicroEpsilon, WindowId};
use crate::seal::Closing;

/// The page and its digest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Statement {
    /// The words, without the digest.
    pub text: String,
    /// Of the words.
    pub digest: Digest,
}

impl Statement {
    /// What this configuration comes to.
    pub fn of(settings: &Settings) -> Self {
        let mut text = String::new();
        for (title, body) in [
            ("What is released", released(settings)),
            ("What is protected", protected(settings)),
            ("What it costs", costs(settings)),
            ("What is not protected", not_protected(settings)),
            ("How it is made", made(settings)),
        ] {
            writeln!(text, "{title}\n{body}").expect("writing to memory cannot fail");
        }
        let text = text.trim_end().to_owned() + "\n";
        let digest = Digest::of(text.as_bytes());
        Self { text, digest }
    }
}

impl std::fmt::Display for Statement {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Privacy statement\n\n{}\nDigest of this statement (release.approved): {}\n",
            self.text, self.digest
        )
    }
}

fn released(settings: &Settings) -> String {
    let calendar = &settings.calendar;
    let zone = calendar.zone().iana_name().unwrap_or("UTC");
    let closing = match settings.closing {
        Closing::Arrival { grace, .. } => format!(
            "A tap counts until {} s after its window's end, judged alone by the broker's clock.",
            grace.as_secs()
        ),
        Closing::Watermark { .. } => {
            "Windows close by the progress of the whole feed; the guarantee begins at the closed window.".to_owned()
        }
    };
    format!(
        "  Trips of the feed {:?}, {} public stations, one release for every window of {} s ({zone}),\n  \
         in slots of {} s. {closing}\n",
        settings.feed.id,
        settings.stations.len(),
        calendar.length_secs(),
        calendar.slot_secs(),
    )
}

/// The engine's own words for what it promises.
fn protected(settings: &Settings) -> String {
    filled("Guarantee: ", &settings.engine.guarantee().in_words())
}

/// A paragraph with lines of at most a page's width, indented by two.
fn filled(before: &str, words: &str) -> String {
    const COLUMNS: usize = 110;
    let mut text = format!("  {before}");
    let mut column = text.chars().count();
    for (number, word) in words.split_whitespace().enumerate() {
        let length = word.chars().count();
        if number > 0 && column + 1 + length > COLUMNS {
            text.push_str("\n  ");
            column = 2;
        } else if number > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text.push('\n');
    text
}

fn costs(settings: &Settings) -> String {
    let (budget, price) = (&settings.caps, settings.engine.price().epsilon());
    if price == MicroEpsilon::default() {
        return "  No epsilon. Each window is released once, and never beside a differentially private release.\n"
            .to_owned();
    }
    let mut text = format!("  epsilon = {price} for each release.\n");
    match budget.horizon {
        Some(horizon) => writeln!(
            text,
            "  At most epsilon = {} over any {} windows in a row.",
            horizon.cap, horizon.windows
        ),
        None => writeln!(text, "  No cap over windows in a row (budget.horizon)."),
    }
    .expect("writing to memory cannot fail");
    match budget.lifetime {
        Some(cap) => {
            let n = cap.micro() / price.micro();
            writeln!(text, "  At most epsilon = {cap} ever: {n} releases. {}", ends(settings, n))
        }
        None => writeln!(
            text,
            "  No cap over the feed's life (budget.lifetime): the budget never ends."
        ),
    }
    .expect("writing to memory cannot fail");
    text
}

/// The day on which the last release is paid for.
fn ends(settings: &Settings, n: u64) -> String {
    let calendar = &settings.calendar;
    let first = match settings.span() {
        Some(span) => calendar.windows_within(&span).first().map(|window| window.id()),
        None => settings.from.and_then(|from| calendar.first_window_from(from)),
    };
    let last = i64::try_from(n).ok().zip(first).and_then(|(n, first)| {
        calendar.window(WindowId::new(first.number().checked_add(n)?.checked_sub(1)?))
    });
    match last {
        Some(last) => {
            format!("If every window is released, the budget ends on {}.", last.end_label())
        }
        None => {
            "The budget ends after so many windows from the first one (set window.from for a date)."
                .to_owned()
        }
    }
}

fn not_protected(settings: &Settings) -> String {
    let guarantee = settings.engine.guarantee();
    let all = ["stations, slots and windows, which are public"]
        .into_iter()
        .chain(guarantee.not_protected().iter().copied())
        .chain(["how long the work took, and how much data there was on its way"]);
    all.map(|clause| filled("- ", clause)).collect()
}

fn made(settings: &Settings) -> String {
    let facts = settings.engine.describe();
    let mut text = format!("  Engine {}, revision {}:\n", facts.name, facts.version);
    for (name, value) in &facts.parameters {
        writeln!(text, "    {name} = {value}").expect("writing to memory cannot fail");
    }
    text + &format!("  Configuration digest: {}\n", settings.digest)
}
