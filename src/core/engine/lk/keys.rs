//! `[engine.lk]`: its keys, its checks, its samples.

use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::{Value, json};

use super::{Lk, Score, Settings, Variant, Weights};
use crate::declare::{Declared, Fraction, Leaf, Positive, Section, Values, Whole, inline};
use crate::engine::{Engine, Registration, World};

/// The line of the registry.
pub const REGISTRATION: Registration = Registration {
    name: "lk",
    about: "suppression until K trajectories share whatever L doublets somebody knows (lk-flowgraph-2014)",
    is_differential: false,
    sections: || {
        vec![Section::of::<Keys>("engine.lk"), Section::of::<WeightKeys>("engine.lk.weights")]
    },
    starter: "[engine.lk]\n\
        l = 3                               # whoever knows up to so many doublets of a card …\n\
        k = 30                              # … finds none or at least so many trajectories that contain them\n",
    demo: "[engine]\nname = \"lk\"\n\n[engine.lk]\nl = 2\nk = 20\n",
    build,
    audit: None,
    proof: include_str!("PROOF.md"),
};

crate::keys! {
    /// lk: suppression, no differential privacy, no epsilon, no noise. Its releases never stand beside a
    /// differentially private one of the same time: together both promises fail.
    struct Keys {
        /// whoever knows up to so many doublets of a card …
        l: Positive<4_294_967_295> = required(3);
        /// … finds none or at least so many trajectories that contain them
        k: Positive<4_294_967_295> = required(30);
        /// best: ours, keeps more | published: Algorithm 3 of the paper, for comparison; both keep the promise
        variant: Variant = default("best");
        /// which doublet goes first: 1 most violations per information lost, 2 random, 3 most violations, 4 least
        /// information
        score: Score = default(1);
        /// sequences that mining may look at, about 100 bytes each at worst. A window that needs more is refused before
        /// it is booked
        max_work: Whole<1, 10_000_000_000> = default(50_000_000);
        /// lets k = 1 publish, which protects nobody
        allow_unsound: bool = default(false);
    }
}

crate::keys! {
    /// What a doublet is worth to the flowgraph; the sum is 1.
    struct WeightKeys {
        /// of its nodes
        alpha: Fraction = default("0.4");
        /// of their children
        beta: Fraction = default("0.2");
        /// of the paths through it
        gamma: Fraction = default("0.2");
        /// of the trajectories
        delta: Fraction = default("0.2");
    }
}

fn build(values: &mut Values<'_>, world: Option<&World>) -> Option<Arc<dyn Engine>> {
    let keys = Keys::read(values);
    let weights = WeightKeys::read(&mut values.below("weights")).map(|keys| Weights {
        alpha: keys.alpha.0,
        beta: keys.beta.0,
        gamma: keys.gamma.0,
        delta: keys.delta.0,
    });
    if let Some(Weights { alpha, beta, gamma, delta }) =
        weights.filter(|weights| weights.sum_micro() != 1_000_000)
    {
        let what = format!(
            "{alpha} + {beta} + {gamma} + {delta} is not 1: alpha, beta, gamma and delta sum to exactly 1"
        );
        values.complain("weights", what);
        return None;
    }
    let (keys, weights) = (keys?, weights?);
    if keys.k.get() == NonZeroU32::MIN && !keys.allow_unsound {
        values.complain(
            "k",
            "is 1: every trajectory is shared by itself, so nobody is protected. Use 2 or more, or \
             allow_unsound = true to release without any guarantee",
        );
        return None;
    }
    let settings = Settings {
        l: keys.l.get(),
        k: keys.k.get(),
        variant: keys.variant,
        score: keys.score,
        weights,
        max_work: keys.max_work.get(),
        stations: world?.stations.clone(),
    };
    Lk::new(settings).map(|engine| Arc::new(engine) as Arc<dyn Engine>)
}

impl Leaf for Score {
    fn read(value: &Value) -> Result<Self, String> {
        let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
        let score = number.and_then(|number| Self::ALL.get(number.checked_sub(1)?).copied());
        score.ok_or_else(|| format!("{} is not one of 1, 2, 3, 4", inline(value)))
    }

    fn schema() -> Value {
        json!({ "type": "integer", "minimum": 1, "maximum": 4 })
    }
}
