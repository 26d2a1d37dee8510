//! The passengers: from a card's number to its taps, independently of every other card.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::choice::{Choice, around_zero, below, length_probabilities, stay, wait};
use super::demand::Flows;
use super::network::Network;
use super::occasions::{FREE_DAY_OUTINGS, LESSONS, SHIFTS, WORKDAY_OUTINGS, choice_of};
use super::preset::{Demand, Preset, Statistics, Windows};

pub(super) const MINUTE: u32 = 60;
pub(super) const HOUR: u32 = 60 * MINUTE;
const DAY: u32 = 24 * HOUR;

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
    hotels: Choice,
    flows: Flows,
    demand: Demand,
    min_length: u32,
    longest: usize,
    /// By length from the shortest on: how many plans there are; empty where everybody has one of their own.
    plans: Vec<u32>,
    slot_seconds: u32,
    /// Seconds between two trains or buses.
    headway: u32,
    /// Which of the window's days people go to work on.
    workdays: Vec<u32>,
    leisure_days: Choice,
    workday_outings: Choice,
    free_day_outings: Choice,
    shifts: Choice,
    lessons: Choice,
    window_seconds: u32,
}

impl Population {
    pub(super) fn new(preset: Preset, network: &Network, seed: u64) -> Population {
        Self::with(preset, preset.statistics(), network, seed)
    }

    /// People like those of a preset, with other figures.
    pub(super) fn with(
        preset: Preset,
        statistics: Statistics,
        network: &Network,
        seed: u64,
    ) -> Population {
        let source = source(preset, seed);
        // No card has this number: one would need more cards than a u64 can count.
        let mut of_the_city = source.clone();
        of_the_city.set_stream(u64::MAX);
        let Statistics { mean_length, min_length, max_length, .. } = statistics;
        let probabilities = length_probabilities(mean_length, min_length, max_length);
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
            mean_length,
            homes: network.homes(statistics.layout, &mut of_the_city),
            hotels: network.hotels(&mut of_the_city),
            flows: Flows::new(network, &statistics, &mut of_the_city),
            demand: statistics.demand,
            min_length,
            longest: max_length as usize,
            plans: plans(&statistics, &probabilities),
            slot_seconds: statistics.slot_minutes * MINUTE,
            headway: statistics.headway,
            workdays,
            leisure_days: Choice::new(&leisure),
            workday_outings: choice_of(&WORKDAY_OUTINGS),
            free_day_outings: choice_of(&FREE_DAY_OUTINGS),
            shifts: choice_of(&SHIFTS),
            lessons: choice_of(&LESSONS),
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
        let length = self.lengths.draw(&mut rng) + self.min_length as usize;
        match self.plan(length, &mut rng) {
            None => self.add_taps(length, network, &mut rng, taps),
            Some(plan) => {
                let mut shared = self.source.clone();
                shared.set_stream(plan);
                self.add_taps(length, network, &mut shared, taps);
                self.shift_in_slots(taps, &mut rng);
            }
        }
    }

    /// The stream of the plan that a card shares with others, if it does: the first plans of a length are the most
    /// usual, and one card in a thousand has its own.
    fn plan(&self, length: usize, rng: &mut ChaCha8Rng) -> Option<u64> {
        let n_plans = *self.plans.get(length - self.min_length as usize)?;
        if below(1_000, rng) == 0 {
            return None;
        }
        // A rank below r has the probability √(r/n): the least usual plan is half as usual as the average.
        let within = u64::from(below(1 << 16, rng));
        let rank = (within * within * u64::from(n_plans)) >> 32;
        Some(1 << 63 | (length as u64) << 40 | rank)
    }

    /// Moves the taps of a shared plan, all those of a slot together, without leaving it.
    fn shift_in_slots(&self, taps: &mut [Tap], rng: &mut ChaCha8Rng) {
        let slot = self.slot_seconds;
        for together in taps.chunk_by_mut(|a, b| a.second / slot == b.second / slot) {
            let (Some(first), Some(last)) = (together.first(), together.last()) else { continue };
            let (before, after) = (first.second % slot, slot - 1 - last.second % slot);
            let shift = below(before + after + 1, rng);
            together.iter_mut().for_each(|tap| tap.second = tap.second - before + shift);
        }
    }

    fn add_taps(
        &self,
        length: usize,
        network: &Network,
        rng: &mut ChaCha8Rng,
        taps: &mut Vec<Tap>,
    ) {
        match self.demand {
            Demand::Outings => self.add_outings(length, rng, taps),
            Demand::Rides => self.add_ride(length, network, rng, taps),
            Demand::Anywhere => {
                let tap = |_| Tap {
                    second: below(self.window_seconds, rng),
                    station: below(network.len(), rng),
                };
                taps.extend((0..length).map(tap));
            }
        }
        self.set_in_order(taps);
    }

    /// Adds what somebody of the city does.
    fn add_outings(&self, length: usize, rng: &mut ChaCha8Rng, taps: &mut Vec<Tap>) {
        // Who leaves comes back: most odd lengths become one of the even ones beside them, as often longer as shorter.
        let odd = length > 1 && length % 2 == 1 && length < self.longest;
        let length = match below(100, rng) {
            percent if odd && percent < 35 => length - 1,
            percent if odd && percent < 70 => length + 1,
            _ => length,
        };
        let kind = Kind::draw(length, rng);
        let home = match kind {
            Kind::Visitor => self.hotels.draw(rng),
            _ => self.homes.draw(rng),
        } as u32;
        if let Some(routine) = self.routine(kind, rng) {
            self.add_workdays(&routine, home, length, rng, taps);
        }
        // Most outings of one person go to the same place.
        let haunt = self.flows.destination(home, rng);
        while taps.len() < length {
            let elsewhere = below(100, rng) < 25;
            let place = if elsewhere { self.flows.destination(home, rng) } else { haunt };
            self.add_outing(kind, home, place, length, rng, taps);
        }
    }

    /// Adds the cells that a vehicle is seen in, from a popular one towards another.
    fn add_ride(
        &self,
        length: usize,
        network: &Network,
        rng: &mut ChaCha8Rng,
        taps: &mut Vec<Tap>,
    ) {
        const BETWEEN: u32 = 7 * MINUTE;
        let mut cell = self.homes.draw(rng) as u32;
        let mut goal = self.flows.destination(cell, rng);
        let all = BETWEEN * length as u32;
        let mut second = self.free_day_outings.draw(rng) as u32 * 3 * HOUR + below(4 * HOUR, rng);
        second = second.min(self.window_seconds - all - HOUR);
        for _ in 0..length {
            taps.push(Tap { second, station: cell });
            second += (i64::from(BETWEEN) + around_zero(MINUTE, rng)) as u32;
            if cell == goal {
                goal = self.flows.destination(cell, rng);
            }
            // Mostly nearer to where it goes; now and then another way round, or not at all.
            let percent = below(100, rng);
            let near = |next: &u32| network.apart(*next, goal);
            cell = match percent {
                0..15 => cell,
                15..25 => network.beside(cell).nth(below(2, rng) as usize).unwrap_or(cell),
                _ => {
                    network.beside(cell).min_by(|a, b| near(a).total_cmp(&near(b))).unwrap_or(cell)
                }
            };
        }
    }

    /// Adds the ways to work and back, on as many workdays as the length allows.
    fn add_workdays(
        &self,
        routine: &Routine,
        home: u32,
        length: usize,
        rng: &mut ChaCha8Rng,
        taps: &mut Vec<Tap>,
    ) {
        let work = self.flows.destination(home, rng);
        let count = self.workdays.len();
        let first = below(count as u32, rng) as usize;
        for nth in 0..count.min(length.div_ceil(2)) {
            let day_start = self.workdays[(first + nth) % count] * DAY;
            let there = day_start + self.boarding(routine.leave, routine.jitter, rng);
            let back = day_start + self.boarding(routine.come_back, routine.jitter, rng);
            add_round_trip((there, home), (back, work), length, rng, taps);
        }
    }

    /// The regular way of those who have one.
    fn routine(&self, kind: Kind, rng: &mut ChaCha8Rng) -> Option<Routine> {
        let occasion = match kind {
            Kind::Commuter => SHIFTS[self.shifts.draw(rng)],
            Kind::Student => LESSONS[self.lessons.draw(rng)],
            Kind::Resident | Kind::Visitor => return None,
        };
        let leave = jittered(occasion.leave, 25 * MINUTE, rng);
        let come_back = jittered(occasion.leave + occasion.stay, 25 * MINUTE, rng);
        Some(Routine { leave, come_back, jitter: 10 * MINUTE })
    }

    /// Adds one way to somewhere and back, for leisure.
    fn add_outing(
        &self,
        kind: Kind,
        home: u32,
        place: u32,
        length: usize,
        rng: &mut ChaCha8Rng,
        taps: &mut Vec<Tap>,
    ) {
        let day = self.leisure_days.draw(rng) as u32;
        let occasion = match kind == Kind::Visitor || !self.workdays.contains(&day) {
            true => FREE_DAY_OUTINGS[self.free_day_outings.draw(rng)],
            false => WORKDAY_OUTINGS[self.workday_outings.draw(rng)],
        };
        // A few leave at any time of the day.
        let usual = match below(100, rng) < 4 {
            true => below(DAY - 2 * HOUR, rng),
            false => occasion.leave,
        };
        let leave = self.boarding(usual, 25 * MINUTE, rng);
        let stay = stay(occasion.stay, rng);
        // Whoever would stay past the end of the service day comes back before it.
        let stay = if leave + stay < DAY { stay } else { below(DAY - leave, rng) };
        let there = day * DAY + leave;
        add_round_trip((there, home), (there + stay, place), length, rng, taps);
    }

    /// When somebody boards who comes to the stop near `second` of the service day.
    fn boarding(&self, second: u32, jitter: u32, rng: &mut ChaCha8Rng) -> u32 {
        (jittered(second, jitter, rng) + wait(self.headway, rng)).min(DAY - 1)
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

/// How many different plans there are of every length.
fn plans(statistics: &Statistics, probabilities: &[f64]) -> Vec<u32> {
    let Some(cards_a_plan) = statistics.cards_a_plan else { return Vec::new() };
    let all = statistics.cards as f64 / f64::from(cards_a_plan);
    probabilities.iter().map(|share| ((share * all) as u32).max(1)).collect()
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
}
