//! Numbers that a release says in two places must be the same in both: whoever changes one forgets the other.

use std::path::Path;

use serde_json::Value;

use super::super::contents::README;
use super::super::disk;
use super::super::manifest::{MANIFEST, Privacy};
use super::Problem;
use crate::guarantee::Guarantee;
use crate::model::MicroEpsilon;

/// More than any README.
const README_MOST_BYTES: u64 = 4 << 20;

/// Compares what a manifest says twice, and what its README says again.
pub(super) fn check(dir: &Path, privacy: &Privacy, problems: &mut Vec<Problem>) {
    let mut complain = |what: String| problems.push(Problem::new(MANIFEST, what));
    let spent = MicroEpsilon::new(privacy.budget.spent_micro);
    let promised = match privacy.guarantee.promise {
        Guarantee::Differential { epsilon_micro, .. } => Some(epsilon_micro),
        _ => None,
    };
    if spent != promised.unwrap_or_default() {
        let promised = promised.unwrap_or_default();
        complain(format!("promises epsilon {promised}, but says that {spent} was spent"));
    }
    let parameter = privacy.engine.parameters.get("epsilon").and_then(Value::as_str);
    if let (Some(said), Some(promised)) = (parameter, promised)
        && MicroEpsilon::parse(said).ok() != Some(promised)
    {
        complain(format!("promises epsilon {promised}, but its engine had {said}"));
    }
    let total = privacy.budget.window_total_micro.map(MicroEpsilon::new);
    if let Some(total) = total {
        let fits = if privacy.revision == 0 { total == spent } else { total > spent };
        if promised.is_some() && !fits {
            let number = privacy.revision;
            complain(format!(
                "is release {number} of its window for {spent}, but says that all of them cost {total}"
            ));
        }
    }
    let share = |at: usize| privacy.shares[at].get("threshold").and_then(Value::as_u64);
    let class = |at: usize| privacy.shares[at].get("class").and_then(Value::as_str);
    let is_same = privacy.thresholds.len() == privacy.shares.len()
        && privacy.thresholds.iter().enumerate().all(|(at, said)| {
            share(at) == Some(said.threshold) && class(at) == Some(said.class.as_str())
        });
    if !is_same {
        complain("says two things about thresholds".to_owned());
    }
    if let Some(promised) = promised {
        for at in 0..privacy.shares.len() {
            let said = |member: &str| privacy.shares[at].get(member).and_then(Value::as_str);
            let fractions = (said("share").and_then(fraction), said("scale").and_then(fraction));
            let (Some(share), Some(scale)) = fractions else { continue };
            if !is_enough(scale, share, promised) {
                let class = class(at).unwrap_or_default();
                complain(format!(
                    "says a scale of noise for {class:?} that is too small for its share"
                ));
            }
        }
    }
    check_readme(dir, privacy, problems);
}

/// A fraction as manifests write it, e.g. `3/8` or `2`.
fn fraction(text: &str) -> Option<(u128, u128)> {
    let (over, under) = text.split_once('/').unwrap_or((text, "1"));
    let under: u128 = under.parse().ok()?;
    (under > 0).then_some((over.parse().ok()?, under))
}

/// A card that counts c times in a class changes its counts by c, so the noise has the scale c / (share · ε): at least
/// 1 / (share · ε). Numbers too large to multiply are not those of any engine.
fn is_enough(scale: (u128, u128), share: (u128, u128), epsilon: MicroEpsilon) -> bool {
    let over = scale.0.checked_mul(share.0).and_then(|n| n.checked_mul(epsilon.micro().into()));
    let under = scale.1.checked_mul(share.1).and_then(|n| n.checked_mul(1_000_000));
    over.zip(under).is_some_and(|(over, under)| over >= under)
}

/// The README says which release it is of, and what that promises, in the manifest's own words.
fn check_readme(dir: &Path, privacy: &Privacy, problems: &mut Vec<Problem>) {
    // One that is missing or changed is reported already.
    let Ok(text) = disk::read(&dir.join(README), README_MOST_BYTES) else { return };
    let text = String::from_utf8_lossy(&text);
    if !text.contains(&privacy.release_id) {
        problems.push(Problem::new(README, "is of another release"));
    }
    if !privacy.guarantee.statement.is_empty() && !text.contains(&privacy.guarantee.statement) {
        problems.push(Problem::new(README, "promises something else than the manifest"));
    }
}
