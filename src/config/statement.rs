//! The privacy officer's page: what a configuration promises and costs, in words, with a digest to sign.
//!
//! From the configuration alone, and covering everything of it that can weaken the promise: a test (C-4) says of every
//! key whether it is in here, or why not. `tapveil ledger approve` signs the digest as a record of the ledger;
//! `release.approved` may hold it too. `run`, `demo` and `sanitize` then refuse any other.

use std::fmt::Write;

use super::Settings;
use super::odds::{Odds, days, window_length};
use crate::model::{Digest, MicroEpsilon, Missed, WindowId};
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
            ("Who, what for, for whom", purpose(settings)),
            ("What is released", released(settings)),
            ("What is protected", protected(settings)),
            ("What it means for one passenger", meaning(settings)),
            ("What it costs", costs(settings)),
            ("What is not protected", not_protected(settings)),
            ("Who sees what on the way", seen(settings)),
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
            "Privacy statement\n\n{}\n{QUESTIONS}\nTo sign: tapveil ledger approve -c FILE --by NAME --statement DIGEST\n\
             Signed by (name, date): ______________________________\n\
             Digest of this statement (release.approved): {}\n",
            self.text, self.digest
        )
    }
}

/// Where the answers to the questions of others are. No part of what is signed.
const QUESTIONS: &str = "Where the usual questions are answered
  NIST SP 800-226: unit of privacy, epsilon: what is protected; accounting over releases: what it costs; trust model:
    who sees what; algorithm, proof and audit: how it is made; data collection and bias: what is not protected
  Opinion 05/2014 of the Article 29 Working Party: singling out, linkability, inference: what it means for one passenger
  How to choose epsilon: below 1 an attacker's odds move little; at 1 from 50 to at most 74 in 100; above 5 they can
    become near certainty, and the promise means little. `tapveil compare` shows what a smaller one costs
";

fn put(text: &mut String, before: &str, words: &str) {
    text.push_str(&filled(before, words));
}

fn purpose(settings: &Settings) -> String {
    let release = &settings.release;
    let said = |text: &str| {
        if text.trim().is_empty() { "not said".to_owned() } else { text.trim().to_owned() }
    };
    let mut text = String::new();
    put(&mut text, "Purpose (release.purpose): ", &said(&release.purpose));
    put(&mut text, "Recipients (release.recipients): ", &said(&release.recipients));
    put(&mut text, "How long raw taps are kept (release.retention): ", &said(&release.retention));
    text
}

fn released(settings: &Settings) -> String {
    let calendar = &settings.calendar;
    let zone = calendar.zone().iana_name().unwrap_or("UTC");
    let closing = match settings.closing {
        Closing::Arrival { grace, .. } => format!(
            "A tap counts until {} after its window's end, judged alone by the broker's clock.",
            days(grace.as_secs())
        ),
        Closing::Watermark { disorder } => format!(
            "Windows close by the progress of the whole feed, {} behind its latest tap; the guarantee begins at the \
             closed window.",
            days(disorder.as_secs())
        ),
    };
    let windows = match settings.span() {
        Some(span) => format!(
            "Windows from {} to {}: which exist is public, and says nothing about anybody.",
            span.from, span.to
        ),
        None => "No range of windows is configured: in a file a window exists because somebody travelled in it, and \
                 that is not protected."
            .to_owned(),
    };
    let words = format!(
        "Trips of the feed {:?}, {} public stations, one release for every window of {} ({zone}), in slots of {}. \
         {closing} {windows} A tap that lies more than {} after its arrival does not count.",
        settings.feed.id,
        settings.stations.len(),
        window_length(calendar.length()),
        days(calendar.slot_secs()),
        days(settings.max_ahead.as_secs()),
    );
    let mut text = filled("", &words);
    let max = settings.feed.max_rejects;
    put(
        &mut text,
        "",
        &format!(
            "A file of which more than {max} cannot be used is refused before anything is booked (feed.max_rejects): \
             that decision looks at the data, and whoever learns of it learns that much."
        ),
    );
    text
}

/// The engine's own words for what it promises.
fn protected(settings: &Settings) -> String {
    filled("Guarantee: ", &settings.engine.guarantee().in_words())
}

/// Odds for one passenger: per release, per year of daily travel, and at the cap.
fn meaning(settings: &Settings) -> String {
    let price = settings.engine.price().epsilon();
    if price == MicroEpsilon::default() {
        return filled(
            "",
            "No odds can be given: whoever knows more than the engine assumes may learn more. Singling out, linkability \
             and inference are limited for such attackers alone.",
        );
    }
    let caps = &settings.caps;
    let capped = |epsilon: MicroEpsilon| caps.lifetime.map_or(epsilon, |cap| cap.min(epsilon));
    let n_year = settings.calendar.length().per_year();
    let year =
        MicroEpsilon::new(price.micro().saturating_mul(n_year).min(MicroEpsilon::MAX.micro()));
    let mut text = filled(
        "",
        "Somebody wonders whether a certain passenger made a certain trip, and would bet even money: 50 in 100. What the \
         releases can add, at the very most, whatever else that somebody knows:",
    );
    let mut line = |when: String, epsilon: MicroEpsilon| {
        put(&mut text, "- ", &format!("{when}: epsilon {epsilon}, {}", Odds::of(epsilon)));
    };
    line("from one release".to_owned(), price);
    line(format!("for who travels in every window of a year ({n_year})"), capped(year));
    if let Some(cap) = caps.lifetime {
        line("from everything ever released (budget.lifetime)".to_owned(), cap);
    }
    put(
        &mut text,
        "",
        "That bounds singling out (is this person in there?), linkability (are these two the same person?) and inference \
         (did this person do that?) alike.",
    );
    text
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
    put(
        &mut text,
        "",
        "A window is released once. A revision (tapveil revise) is numbered, paid in full, and its manifest states what \
         all releases of its window cost together. Windows without data are released and paid for like any other.",
    );
    put(&mut text, "", &after_downtime(settings));
    text
}

/// What is paid for after a time in which the service was down, and perhaps the feed with it.
fn after_downtime(settings: &Settings) -> String {
    match settings.release.schedule.missed {
        Missed::All => "After a downtime of the service every window that was missed is released and paid for, in order, \
                        even if the feed was down too and nobody's tap is in it (release.missed = \"all\")."
            .to_owned(),
        Missed::Within(late) => format!(
            "After a downtime of the service a window whose release is late by more than {} goes without one and costs \
             nothing; the others are released and paid for, in order, with or without taps (release.missed).",
            days(late.as_secs())
        ),
    }
}

/// The day on which the last release is paid for.
fn ends(settings: &Settings, n: u64) -> String {
    let calendar = &settings.calendar;
    let first = match settings.span() {
        Some(span) => calendar.first_window_from(span.from),
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

fn seen(settings: &Settings) -> String {
    let listen = match settings.http.listen.ip().is_loopback() {
        true => "this machine alone can ask for them",
        false => "other machines can ask for them, with a token",
    };
    let all = [
        "raw taps: whoever can read the feed, before this program does; it keeps none after a window's release".to_owned(),
        "sealed taps on their way (topic of segments): encrypted with a key of their window; their number and size show"
            .to_owned(),
        format!("exact numbers (metrics, operator pages, dry runs): operators; {listen} (http.listen)"),
        "the secret: whoever has it can undo the noise; it never leaves its machine".to_owned(),
        "releases, manifests, catalog: everybody".to_owned(),
    ];
    all.iter().map(|clause| filled("- ", clause)).collect()
}

fn made(settings: &Settings) -> String {
    let facts = settings.engine.describe();
    let mut text = format!("  Engine {}, revision {}:\n", facts.name, facts.version);
    for (name, value) in &facts.parameters {
        writeln!(text, "    {name} = {value}").expect("writing to memory cannot fail");
    }
    text + &format!("  Configuration digest: {}\n", settings.digest)
}
