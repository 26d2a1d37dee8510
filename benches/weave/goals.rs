//! The table of goals: nothing, the best plain tables, `weave`, and what is wanted.

use super::cities::Town;
use super::histogram;
use super::judge::{Judge, Metric, Score};
use super::world::{Case, Ran};

const SEEDS: u64 = 3;

/// What is wanted of a city at this ε, if anything is; and whether more is better.
fn goal(town: &Town, epsilon: &str, metric: Metric) -> Option<f64> {
    let goals: &[(Metric, f64)] = match (town.name, epsilon) {
        ("pairs", "1.0") => &[
            (Metric::Q1, 0.03),
            (Metric::Q2, 0.032),
            (Metric::Q3, 0.0115),
            (Metric::StationHour, 0.04),
            (Metric::Od, 0.2),
            (Metric::OdQuarter, 0.4),
            (Metric::Top20, 16.0),
            (Metric::PeakHour, 0.0),
            (Metric::MeanTaps, 0.02),
        ],
        ("pairs", "0.1") => &[(Metric::Q1, 0.15), (Metric::StationHour, 0.18)],
        ("sequences", "1.0") => {
            &[(Metric::OdJsd, 0.1), (Metric::Patterns, 0.85), (Metric::LengthJsd, 0.01)]
        }
        _ => &[],
    };
    goals.iter().find(|goal| goal.0 == metric).map(|goal| goal.1)
}

fn is_met(metric: Metric, value: f64, goal: f64) -> bool {
    match metric {
        Metric::Top20 | Metric::Patterns => value >= goal,
        _ => value <= goal,
    }
}

/// Prints the table of one city at one ε: means of three seeds.
pub(crate) fn print(town: &Town, case: &Case, judge: &Judge, epsilon: &str) {
    let number: f64 = epsilon.parse().expect("a number");
    let ran: Vec<Ran> = (1..=SEEDS).map(|seed| case.release(epsilon, seed)).collect();
    let trips: Vec<Score> =
        ran.iter().map(|ran| judge.trips(&case.made(&ran.release, judge.truth.legs))).collect();
    let tables: Vec<Score> = ran
        .iter()
        .filter_map(|ran| ran.release.tables())
        .map(|tables| judge.published(tables))
        .collect();
    let plain: Vec<Score> = (1..=SEEDS).map(|seed| histogram::score(judge, number, seed)).collect();
    let columns = [judge.nothing(), Score::mean(&plain), Score::mean(&trips), Score::mean(&tables)];
    let seconds: f64 = ran.iter().map(|ran| ran.took.as_secs_f64()).sum::<f64>() / SEEDS as f64;
    println!("\n{} at epsilon {epsilon}: {}", case.name, town.about);
    println!(
        "  {} cards, {} stations, {} slots, {} pairs occur, {seconds:.2} s a release; means of seeds 1 to {SEEDS}",
        judge.truth.trips.len(),
        judge.truth.stations,
        judge.truth.slots,
        judge.od.len()
    );
    println!(
        "  {:<36}{:>10}{:>12}{:>12}{:>12}{:>9}",
        "", "nothing", "histogram", "its trips", "its tables", "goal"
    );
    for metric in Metric::ALL {
        let said = |score: &Score| score.get(metric).map_or("-".to_owned(), |v| format!("{v:.4}"));
        let wanted = goal(town, epsilon, metric);
        // A planner reads the tables where they say something, and counts the trips elsewhere.
        let ours =
            columns[3].get(metric).filter(|_| metric != Metric::Q1).or(columns[2].get(metric));
        let verdict = match (wanted, ours) {
            (Some(goal), Some(value)) if is_met(metric, value, goal) => "met",
            (Some(_), Some(_)) => "SHORT",
            _ => "",
        };
        println!(
            "  {:<36}{:>10}{:>12}{:>12}{:>12}{:>9} {verdict}",
            metric.in_words(),
            said(&columns[0]),
            said(&columns[1]),
            said(&columns[2]),
            said(&columns[3]),
            wanted.map_or(String::new(), |goal| goal.to_string()),
        );
    }
    println!(
        "  {:<36}{:>10.4}  what one card more of the same city would repeat by chance",
        "",
        judge.chance_of_repeats()
    );
}
