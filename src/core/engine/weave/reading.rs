//! What a recipient is told about a release of `weave`.

use crate::engine::Reading;

/// From nothing but what the engine is.
pub(super) fn reading() -> Reading {
    Reading {
        row: "`count` synthetic passengers made this trip. No row is anybody's.",
        count: "Synthetic passengers; at least 1",
        error: "stations.csv, od.csv and lengths.csv are measured, with ranges that hold the true number about 95 times of \
                100. paths.csv agrees with them on average: use the tables for numbers, and the paths for whole trips."
            .to_owned(),
        cautions: [
            "Trips are synthetic: they are drawn so that their tables agree with the measured ones. A trip may look like \
             somebody's by chance, and says nothing about anybody.",
            "A number whose range reaches down to 0 may be nothing but noise.",
            "A pair of stations that od.csv does not list had few trips, or none: the files do not tell which.",
            "Numbers of long trips are less exact than numbers of stations: look at the ranges.",
        ]
        .map(str::to_owned)
        .into(),
    }
}
