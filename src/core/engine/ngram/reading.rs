//! What a recipient is told about a release of `ngram`.

use crate::engine::Reading;

/// From nothing but what the engine is.
pub(super) fn reading() -> Reading {
    Reading {
        row: "`count` synthetic passengers made this trip. No row is anybody's.",
        count: "Synthetic passengers; at least 1",
        error: "Trips follow noisy counts of short runs of stations. Add many rows up: runs that many passengers made are \
                near the truth, whole trips are a guess from their parts."
            .to_owned(),
        cautions: [
            "Trips are synthetic: a trip may look like somebody's by chance, and says nothing about anybody.",
            "A long trip is put together from short runs of stations. That its parts are frequent does not mean that \
             anybody made all of it.",
            "A trip that is not listed is not a trip that nobody made: rare runs are lost in the noise.",
            "Numbers of taps come from where trips end, not from a count of their own.",
        ]
        .map(str::to_owned)
        .into(),
    }
}
