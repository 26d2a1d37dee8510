//! The passengers: from a card's number to its taps, independently of every other card.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::choice::{Choice, around_zero, below, length_probabilities, mean_length, stay, wait};
use super::network::Network;
use super::preset::{DAY_START_HOUR, Preset, Windows};

const MINUTE: u32 = 60;
const HOUR: u32 = 60 * MINUTE;
const DAY: u32 = 24 * HOUR;

/// When people leave for an outing of an evening or a lunch hour, by hour from 04:00.
const WEEKDAY_HOURS: [f64; 24] = [
    1.0, 3.0, 8.0, 14.0, 16.0, 18.0, 20.0, 26.0, 30.0, 28.0, 28.0, 30.0, 34.0, 42.0, 46.0, 38.0,
    26.0, 18.0, 9.0, 4.0, 1.5, 0.5, 0.3, 0.3,
];

/// When people leave for an outing of a weekend or a visit, by hour from 04:00.
const FREE_DAY_HOURS: [f64; 24] = [
    1.0, 2.0, 4.0, 8.0, 14.0, 22.0, 30.0, 34.0, 36.0, 38.0, 38.0, 36.0, 34.0, 32.0, 30.0, 28.0,
    24.0, 18.0, 12.0, 6.0, 2.0, 1.0, 0.5, 0.5,
];

/// One tap: seconds since the start of the window, and the number of the station.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tap {
    pub(super) second: u32,
    pub(super) station: u32,
}

/// What brings the holder of a card into the network.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Commuter,
    Student,
    /// Travels of an evening and at weekends.
    Resident,
    /// Stays downtown and travels all day.
    Visitor,
}

/// A regular way there and back: when it begins and ends on a typical day.
struct Routine {
    leave: u32,
    come_back: u32,
    jitter: u32,
}

/// Everything that all passengers of a city share.
#[derive(Debug, Clone)]
pub(super) struct Population {
    /// Untouched; each card copies it and takes the stream of its own number.
    source: ChaCha8Rng,
    lengths: Choice,
    mean_length: f64,
    homes: Choice,
    destinations: Choice,
    same_line_percent: u32,
    /// Seconds between two trains or buses.
    headway: u32,
    /// Which of the window's days people go to work on.
    workdays: Vec<u32>,
    leisure_days: Choice,
    weekday_hours: Choice,
    free_day_hours: Choice,
    window_seconds: u32,
}

impl Population {
    pub(super) fn new(preset: Preset, network: &Network, seed: u64) -> Population {
        let statistics = preset.statistics();
        let source = source(preset, seed);
        // No card has this number: one would need more cards than a u64 can count.
        let mut of_the_city = source.clone();
        of_the_city.set_stream(u64::MAX);
        let probabilities = length_probabilities(statistics.mean_length, statistics.max_length);
        let windows = Windows::of(preset);
        let workdays: Vec<u32> = (0_u32..)
            .zip(windows.dates().take(windows.days as usize))
            .filter(|(_, date)| date.weekday().to_monday_zero_offset() < 5)
            .map(|(day, _)| day)
            .collect();
        let leisure: Vec<f64> =
            (0..windows.days).map(|day| if workdays.contains(&day) { 2.0 } else { 3.0 }).collect();
        Population {
            lengths: Choice::new(&probabilities),
            mean_length: mean_length(&probabilities),
            homes: network.homes(&mut of_the_city),
            destinations: network.destinations(&mut of_the_city),
            same_line_percent: statistics.same_line_percent,
            headway: statistics.headway,
            workdays,
            leisure_days: Choice::new(&leisure),
            weekday_hours: Choice::new(&WEEKDAY_HOURS),
            free_day_hours: Choice::new(&FREE_DAY_HOURS),
            window_seconds: windows.days * DAY,
            source,
        }
    }

    /// The mean number of taps of a card.
    pub(super) fn mean_length(&self) -> f64 {
        self.mean_length
    }

    /// Replaces `taps` with the taps of one card, in ascending order of time. They depend on the
    /// preset, the seed and the card's number alone.
    pub(super) fn taps_of(&self, card: u64, network: &Network, taps: &mut Vec<Tap>) {
        taps.clear();
        let mut rng = self.source.clone();
        rng.set_stream(card);
        let rng = &mut rng;
        let length = self.lengths.draw(rng) + 1;
        let kind = Kind::draw(length, rng);
        let home = match kind {
            Kind::Visitor => self.destinations.draw(rng),
            _ => self.homes.draw(rng),
        } as u32;
        if let Some(routine) = kind.routine(rng) {
            self.add_workdays(&routine, home, length, network, rng, taps);
        }
        while taps.len() < length {
            self.add_outing(kind, home, length, network, rng, taps);
        }
        self.set_in_order(taps);
    }

    /// Adds the ways to work and back, on as many workdays as the length allows.
    fn add_workdays(
        &self,
        routine: &Routine,
        home: u32,
        length: usize,
        network: &Network,
        rng: &mut ChaCha8Rng,
        taps: &mut Vec<Tap>,
    ) {
        let work = self.destination(home, network, rng);
        let count = self.workdays.len();
        let first = below(count as u32, rng) as usize;
        for nth in 0..count.min(length.div_ceil(2)) {
            let day_start = self.workdays[(first + nth) % count] * DAY;
            let there = day_start + self.boarding(routine.leave, routine.jitter, rng);
            let back = day_start + self.boarding(routine.come_back, routine.jitter, rng);
            add_round_trip((there, home), (back, work), length, rng, taps);
        }
    }

    /// Adds one way to somewhere and back, for leisure.
    fn add_outing(
        &self,
        kind: Kind,
        home: u32,
        length: usize,
        network: &Network,
        rng: &mut ChaCha8Rng,
        taps: &mut Vec<Tap>,
    ) {
        let day = self.leisure_days.draw(rng) as u32;
        let free = kind == Kind::Visitor || !self.workdays.contains(&day);
        let hours = if free { &self.free_day_hours } else { &self.weekday_hours };
        let leave = hours.draw(rng) as u32 * HOUR + below(HOUR, rng);
        let leave = (leave + wait(self.headway, rng)).min(DAY - 1);
        let stay = stay(rng);
        // Whoever would stay past the end of the service day comes back before it.
        let stay = if leave + stay < DAY { stay } else { below(DAY - leave, rng) };
        let there = day * DAY + leave;
        let place = self.destination(home, network, rng);
        add_round_trip((there, home), (there + stay, place), length, rng, taps);
    }

    /// When somebody boards who comes to the stop near `second` of the service day.
    fn boarding(&self, second: u32, jitter: u32, rng: &mut ChaCha8Rng) -> u32 {
        (jittered(second, jitter, rng) + wait(self.headway, rng)).min(DAY - 1)
    }

    /// A station other than where the way begins.
    fn destination(&self, origin: u32, network: &Network, rng: &mut ChaCha8Rng) -> u32 {
        let line = network.line_of(origin);
        let on_line = line.end - line.start;
        if below(100, rng) >= self.same_line_percent {
            let place = self.destinations.draw(rng) as u32;
            if place != origin {
                return place;
            }
        }
        // One of the other stations of the line, each as likely.
        let onward = 1 + below(on_line - 1, rng);
        line.start + (origin - line.start + onward) % on_line
    }

    /// Sorts the taps and moves those of the same second apart, staying inside the window.
    fn set_in_order(&self, taps: &mut [Tap]) {
        taps.sort_unstable_by_key(|tap| (tap.second, tap.station));
        let mut earliest = 0;
        for tap in taps.iter_mut() {
            tap.second = tap.second.max(earliest);
            earliest = tap.second + 1;
        }
        let mut end = self.window_seconds;
        for tap in taps.iter_mut().rev() {
            if tap.second < end {
                break;
            }
            tap.second = end - 1;
            end -= 1;
        }
    }
}

/// The generator of a city, keyed with the seed and the preset's name: presets share nothing.
fn source(preset: Preset, seed: u64) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    let name = preset.name().as_bytes();
    key[8..8 + name.len()].copy_from_slice(name);
    ChaCha8Rng::from_seed(key)
}

/// Adds both taps, or one of the two when the length has room for only one.
fn add_round_trip(
    there: (u32, u32),
    back: (u32, u32),
    length: usize,
    rng: &mut ChaCha8Rng,
    taps: &mut Vec<Tap>,
) {
    let tap = |(second, station)| Tap { second, station };
    if length - taps.len() >= 2 {
        taps.push(tap(there));
        taps.push(tap(back));
    } else {
        taps.push(tap(if below(100, rng) < 60 { there } else { back }));
    }
}

/// A moment near `second` of the service day.
fn jittered(second: u32, jitter: u32, rng: &mut ChaCha8Rng) -> u32 {
    let moment = i64::from(second) + around_zero(jitter, rng);
    moment.clamp(0, i64::from(DAY) - 1) as u32
}

impl Kind {
    /// Regular travellers are rare among the shortest trajectories and most common where a
    /// week's ways to work fit.
    fn draw(length: usize, rng: &mut ChaCha8Rng) -> Kind {
        let (commuters, students, residents) = match length {
            1..=2 => (35, 10, 35),
            3..=14 => (60, 15, 17),
            _ => (40, 15, 35),
        };
        let percent = below(100, rng);
        if percent < commuters {
            Kind::Commuter
        } else if percent < commuters + students {
            Kind::Student
        } else if percent < commuters + students + residents {
            Kind::Resident
        } else {
            Kind::Visitor
        }
    }

    /// The regular way of those who have one: its usual times vary between people, and the
    /// jitter, which varies between days, is small.
    fn routine(self, rng: &mut ChaCha8Rng) -> Option<Routine> {
        let (leave, leave_spread, come_back, back_spread, jitter) = match self {
            Kind::Commuter => ((7, 50), 2 * HOUR, (17, 15), 2 * HOUR, 20 * MINUTE),
            Kind::Student => ((9, 0), 3 * HOUR, (15, 45), 3 * HOUR, 30 * MINUTE),
            Kind::Resident | Kind::Visitor => return None,
        };
        Some(Routine {
            leave: jittered(service_second(leave), leave_spread, rng),
            come_back: jittered(service_second(come_back), back_spread, rng),
            jitter,
        })
    }
}

/// Seconds from the start of the service day to a time of the clock after it.
fn service_second((hour, minute): (u32, u32)) -> u32 {
    (hour - DAY_START_HOUR) * HOUR + minute * MINUTE
}
