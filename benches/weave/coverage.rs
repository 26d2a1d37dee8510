//! How often the published 95 % intervals hold the truth, over many releases.

use super::judge::{Cells, Judge};
use super::world::Case;

/// Rows that hold the truth, and all of them, by size of the truth.
#[derive(Clone, Copy, Default)]
struct Held {
    held: [u64; SIZES.len()],
    all: [u64; SIZES.len()],
    width: f64,
}

/// Truths from this size on are counted together.
const SIZES: [u64; 4] = [0, 1, 30, 300];

impl Held {
    fn add(&mut self, truth: f64, (low, high): (u64, u64)) {
        let truth = truth as u64;
        let class = SIZES.iter().rposition(|&size| truth >= size).unwrap_or(0);
        self.held[class] += u64::from((low..=high).contains(&truth));
        self.all[class] += 1;
        self.width += (high - low) as f64;
    }

    fn line(&self, name: &str) -> String {
        let share = |held: u64, all: u64| {
            if all == 0 { "     -".to_owned() } else { format!("{:6.3}", held as f64 / all as f64) }
        };
        let (held, all): (u64, u64) = (self.held.iter().sum(), self.all.iter().sum());
        let by_size: Vec<String> =
            self.held.iter().zip(self.all).map(|(&held, all)| share(held, all)).collect();
        format!(
            "  {name:<9}{} of {all:>9} rows, mean width {:>8.1} | truth 0, 1+, 30+, 300+: {}",
            share(held, all),
            self.width / all.max(1) as f64,
            by_size.join(" ")
        )
    }
}

/// Makes so many releases and prints the coverage of each file; rows that are published are counted.
pub(crate) fn print(case: &Case, judge: &Judge, epsilon: &str, releases: u64) {
    let slots = judge.truth.slots as u64;
    let mut files = [Held::default(); 3];
    let mut truth_by_periods: Option<(Vec<u32>, Cells)> = None;
    for seed in 1..=releases {
        let ran = case.release(epsilon, seed);
        let Some(tables) = ran.release.tables() else { continue };
        let at = |cells: &Cells, cell: u64| cells.get(&cell).copied().unwrap_or(0.0);
        for cell in &tables.stations {
            let code = u64::from(cell.station.0) * slots + u64::from(cell.slot);
            files[0].add(at(&judge.occupancy, code), (cell.taps.low, cell.taps.high));
        }
        let mut periods: Vec<u32> = tables.od.iter().map(|leg| leg.period).collect();
        periods.sort_unstable();
        periods.dedup();
        if truth_by_periods.as_ref().is_none_or(|(known, _)| *known != periods) {
            truth_by_periods = Some((periods.clone(), judge.legs_by_period(&periods)));
        }
        if let Some((_, truth)) = &truth_by_periods {
            for leg in &tables.od {
                let pair =
                    u64::from(leg.origin.0) * judge.truth.stations as u64 + u64::from(leg.dest.0);
                let cell = pair * judge.truth.day as u64 + u64::from(leg.period);
                files[1].add(at(truth, cell), (leg.trips.low, leg.trips.high));
            }
        }
        for length in &tables.lengths {
            let truth = at(&judge.lengths, u64::from(length.taps));
            files[2].add(truth, (length.cards.low, length.cards.high));
        }
    }
    println!(
        "{} at epsilon {epsilon}: {} cards, {releases} releases",
        case.name,
        judge.truth.trips.len()
    );
    for (name, file) in ["stations", "od", "lengths"].iter().zip(&files) {
        println!("{}", file.line(name));
    }
}
