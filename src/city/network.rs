//! The stations of a city: where they stand, what they are called, how many people use them.

use std::io::{self, Write};
use std::ops::Range;

use rand_chacha::ChaCha8Rng;

use super::choice::{Choice, luck};
use super::preset::Preset;

/// Downtown, where the lines meet.
const CENTRE: (f64, f64) = (45.5, -73.6);

/// Kilometres in a degree of latitude, and in a degree of longitude at the centre's latitude.
const DEGREE_KM: (f64, f64) = (111.2, 77.9);

/// Seventeen trees and four places or four kinds of street: as 17 and 4 share no factor, the
/// first 68 stations (or lines) get 68 different pairs.
const TREES: [&str; 17] = [
    "Alder", "Aspen", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Hazel", "Juniper", "Larch",
    "Linden", "Maple", "Oak", "Pine", "Rowan", "Spruce", "Willow",
];
const PLACES: [&str; 4] = ["Square", "Park", "Market", "Gate"];
const STREETS: [&str; 4] = ["Street", "Avenue", "Road", "Lane"];

/// One stop of one line.
#[derive(Debug, Clone)]
pub(super) struct Station {
    pub(super) id: String,
    name: String,
    /// Kilometres east and north of downtown.
    place: (f64, f64),
    line: usize,
}

/// All stations, line by line and in order along each line.
#[derive(Debug, Clone)]
pub(super) struct Network {
    pub(super) stations: Vec<Station>,
    /// The stations of each line, as a range of `stations`.
    lines: Vec<Range<u32>>,
    letter: char,
}

/// A straight run through the city, slightly bent.
struct Course {
    /// The direction (east, north), of length 1.
    direction: (f64, f64),
    /// How far the course passes downtown on its left, in kilometres.
    aside: f64,
    /// How far its middle lies along the direction, in kilometres.
    ahead: f64,
    spacing: f64,
}

impl Network {
    /// The network of a preset; it depends on nothing else, so every seed shares it.
    pub(super) fn new(preset: Preset) -> Network {
        let bus = preset == Preset::Bus;
        let mut stations = Vec::new();
        let mut lines = Vec::new();
        for (line, length) in line_lengths(preset).into_iter().enumerate() {
            let first = stations.len() as u32;
            let course = if bus { bus_course(line) } else { metro_course(line) };
            for stop in 0..length {
                let (id, name) = if bus {
                    let street = format!("{} {}", TREES[line % 17], STREETS[line % 4]);
                    (format!("B{:02}-{:03}", line + 1, stop + 1), format!("{street} {}", stop + 1))
                } else {
                    let nth = stations.len();
                    let name = format!("{} {}", TREES[nth % 17], PLACES[nth % 4]);
                    (format!("L{}-{:02}", line + 1, stop + 1), name)
                };
                stations.push(Station { id, name, place: course.stop(stop, length), line });
            }
            lines.push(first..first + length);
        }
        Network { stations, lines, letter: if bus { 'B' } else { 'L' } }
    }

    /// The stations on the same line as `station`.
    pub(super) fn line_of(&self, station: u32) -> Range<u32> {
        self.lines[self.stations[station as usize].line].clone()
    }

    /// Where people live: spread wide around downtown.
    pub(super) fn homes(&self, rng: &mut ChaCha8Rng) -> Choice {
        self.popularity(4.0, rng)
    }

    /// Where people go: a few stations downtown take a large share.
    pub(super) fn destinations(&self, rng: &mut ChaCha8Rng) -> Choice {
        self.popularity(1.0, rng)
    }

    /// Stations nearer to downtown than `radius` kilometres are popular, and each has a luck of
    /// its own that makes some up to twenty times as popular as their like.
    fn popularity(&self, radius: f64, rng: &mut ChaCha8Rng) -> Choice {
        let weights: Vec<f64> = self
            .stations
            .iter()
            .map(|station| {
                let (east, north) = station.place;
                let nearness = 1.0 / (1.0 + (east * east + north * north) / (radius * radius));
                nearness * luck(rng)
            })
            .collect();
        Choice::new(&weights)
    }

    /// Writes the stations as CSV with a header.
    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "id,name,lat,lon,line")?;
        for station in &self.stations {
            let lat = CENTRE.0 + station.place.1 / DEGREE_KM.0;
            let lon = CENTRE.1 + station.place.0 / DEGREE_KM.1;
            let Station { id, name, line, .. } = station;
            writeln!(out, "{id},{name},{lat:.5},{lon:.5},{}{}", self.letter, line + 1)?;
        }
        Ok(())
    }
}

/// How many stations each line has.
fn line_lengths(preset: Preset) -> Vec<u32> {
    match preset {
        Preset::Metro => vec![24, 20, 15, 9],
        Preset::Metro200k => vec![11, 8, 6, 4],
        Preset::Stm514k => vec![26, 24, 11, 4],
        // 53 lines of fifteen stops and 7 of fourteen make 893.
        Preset::Bus => (0..60).map(|line| if line < 53 { 15 } else { 14 }).collect(),
    }
}

/// Metro lines radiate: each has a direction of its own and passes close to downtown.
fn metro_course(line: usize) -> Course {
    let slope = [0.1, 0.55, -0.35, -0.8][line];
    Course { direction: unit_vector(slope), aside: 0.3 * line as f64, ahead: 0.4, spacing: 0.9 }
}

/// Bus lines make a grid: the even ones run along the river, the odd ones across, and they are
/// shifted so that not all of them end on the same street.
fn bus_course(line: usize) -> Course {
    let (east, north) = unit_vector(0.15);
    let direction = if line.is_multiple_of(2) { (east, north) } else { (-north, east) };
    let nth = (line / 2) as f64;
    let shift = (line * 7 % 11) as f64 - 5.0;
    Course { direction, aside: (nth - 14.5) * 0.34, ahead: shift * 0.4, spacing: 0.5 }
}

/// The point of the unit circle at twice the angle whose tangent is `slope`: no sine needed.
fn unit_vector(slope: f64) -> (f64, f64) {
    let scale = 1.0 + slope * slope;
    ((1.0 - slope * slope) / scale, 2.0 * slope / scale)
}

impl Course {
    /// Where the stop numbered `stop` of `length` stands.
    fn stop(&self, stop: u32, length: u32) -> (f64, f64) {
        let from_middle = (f64::from(stop) - f64::from(length - 1) / 2.0) * self.spacing;
        let along = self.ahead + from_middle;
        let aside = self.aside + 0.01 * from_middle * from_middle;
        let (east, north) = self.direction;
        (along * east - aside * north, along * north + aside * east)
    }
}
