//! The stations of a city: where they stand, what they are called, how many people use them.

use std::io::{self, Write};
use std::ops::Range;

use rand_chacha::ChaCha8Rng;

use super::Stop;
use super::choice::{Choice, luck};
use super::preset::{Layout, Preset};

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
        let layout = preset.statistics().layout;
        let mut stations = Vec::new();
        let mut lines = Vec::new();
        for (line, length) in line_lengths(preset).into_iter().enumerate() {
            let first = stations.len() as u32;
            let course = match layout {
                Layout::Radial => metro_course(line),
                Layout::Streets => bus_course(line),
                Layout::Grid => grid_course(line, length),
            };
            for stop in 0..length {
                let street = || format!("{} {}", TREES[line % 17], STREETS[line % 4]);
                let nth = stations.len();
                let (id, name) = match layout {
                    Layout::Radial => (
                        format!("L{}-{:02}", line + 1, stop + 1),
                        format!("{} {}", TREES[nth % 17], PLACES[nth % 4]),
                    ),
                    Layout::Streets => (
                        format!("B{:02}-{:03}", line + 1, stop + 1),
                        format!("{} {}", street(), stop + 1),
                    ),
                    Layout::Grid => (
                        format!("R{:02}-{:02}", line + 1, stop + 1),
                        format!("{} {}", street(), stop + 1),
                    ),
                };
                stations.push(Station { id, name, place: course.stop(stop, length), line });
            }
            lines.push(first..first + length);
        }
        let letter = match layout {
            Layout::Radial => 'L',
            Layout::Streets => 'B',
            Layout::Grid => 'R',
        };
        Network { stations, lines, letter }
    }

    /// A network of stops that exist, line by line. Where places are unknown, a line runs straight on.
    pub(super) fn of(stops: &[Stop]) -> Network {
        const APART_KM: f64 = 0.9;
        let known: Vec<(f64, f64)> = stops.iter().filter_map(|stop| stop.place).collect();
        let n = known.len().max(1) as f64;
        let sum = known.iter().fold((0.0, 0.0), |sum, at| (sum.0 + at.0, sum.1 + at.1));
        let (lat, lon) = (sum.0 / n, sum.1 / n);
        // A degree of longitude shortens towards the poles; the square root of 1 − sin² needs no library's cosine.
        let shrink = (1.0 - (lat / 90.0) * (lat / 90.0)).max(0.01).sqrt();
        let mut ordered: Vec<&Stop> = stops.iter().collect();
        ordered.sort_by(|a, b| a.line.cmp(&b.line));
        let (mut stations, mut lines): (Vec<Station>, Vec<Range<u32>>) = (Vec::new(), Vec::new());
        for (line, along) in ordered.chunk_by(|a, b| a.line == b.line).enumerate() {
            let first = stations.len() as u32;
            for (nth, stop) in along.iter().enumerate() {
                let place = match stop.place {
                    Some((north, east)) => {
                        ((east - lon) * DEGREE_KM.0 * shrink, (north - lat) * DEGREE_KM.0)
                    }
                    None => (nth as f64 * APART_KM, line as f64 * APART_KM),
                };
                stations.push(Station {
                    id: stop.id.clone(),
                    name: stop.name.clone(),
                    place,
                    line,
                });
            }
            lines.push(first..stations.len() as u32);
        }
        Network { stations, lines, letter: 'L' }
    }

    /// How many stations there are.
    pub(super) fn len(&self) -> u32 {
        self.stations.len() as u32
    }

    /// The cells beside one of a grid: along its row, and across to the rows beside it.
    pub(super) fn beside(&self, cell: u32) -> impl Iterator<Item = u32> {
        let row = self.line_of(cell);
        let width = row.end - row.start;
        let along = [cell.checked_sub(1), Some(cell + 1)].into_iter().flatten();
        let across = [cell.checked_sub(width), Some(cell + width)].into_iter().flatten();
        let n = self.len();
        along.filter(move |next| row.contains(next)).chain(across.filter(move |next| *next < n))
    }

    /// How far apart two stations are, in kilometres and squared.
    pub(super) fn apart(&self, one: u32, other: u32) -> f64 {
        let (a, b) = (self.stations[one as usize].place, self.stations[other as usize].place);
        (a.0 - b.0) * (a.0 - b.0) + (a.1 - b.1) * (a.1 - b.1)
    }

    /// The stations on the same line as `station`.
    pub(super) fn line_of(&self, station: u32) -> Range<u32> {
        self.lines[self.stations[station as usize].line].clone()
    }

    /// Where people live: spread wide around downtown. Stops differ more than stations: they are many, and most
    /// people go to those where several lines or a metro meet.
    pub(super) fn homes(&self, layout: Layout, rng: &mut ChaCha8Rng) -> Choice {
        let mut weights = self.attraction(4.0, rng);
        if layout == Layout::Streets {
            weights.iter_mut().for_each(|weight| *weight *= *weight);
        }
        Choice::new(&weights)
    }

    /// Where people stay who visit: a few stations downtown take a large share.
    pub(super) fn hotels(&self, rng: &mut ChaCha8Rng) -> Choice {
        Choice::new(&self.attraction(1.0, rng))
    }

    /// Stations nearer to downtown than `radius` kilometres are popular, and each has a luck of
    /// its own that makes some up to twenty times as popular as their like.
    pub(super) fn attraction(&self, radius: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
        self.stations
            .iter()
            .map(|station| {
                let (east, north) = station.place;
                let nearness = 1.0 / (1.0 + (east * east + north * north) / (radius * radius));
                nearness * luck(rng)
            })
            .collect()
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
        Preset::Metro | Preset::StmMetro => vec![24, 20, 15, 9],
        Preset::Metro200k => vec![11, 8, 6, 4],
        Preset::Stm514k => vec![26, 24, 11, 4],
        // 53 lines of fifteen stops and 7 of fourteen make 893; 44 of sixteen and 16 of fifteen 944.
        Preset::Bus => (0..60).map(|line| if line < 53 { 15 } else { 14 }).collect(),
        Preset::StmBus => (0..60).map(|line| if line < 44 { 16 } else { 15 }).collect(),
        Preset::Bus20 => vec![10, 10],
        Preset::Random100 => vec![10; 10],
        Preset::Taxis => vec![20; 20],
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

/// Rows of a grid with about as much between two cells as a vehicle of the published traces goes between two
/// sightings.
fn grid_course(row: usize, n_rows: u32) -> Course {
    const SPACING: f64 = 0.623;
    let aside = (row as f64 - f64::from(n_rows - 1) / 2.0) * SPACING;
    Course { direction: unit_vector(0.1), aside, ahead: 0.0, spacing: SPACING }
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
