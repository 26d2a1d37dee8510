//! An inverted index: from a number to the trips that contain it, so that a query looks at few of them.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use super::journeys::{Code, Journeys, contains};

/// By family of queries: the answers, or nothing where they cannot be asked.
pub(super) type Answers = Vec<Option<Vec<f64>>>;

/// Trips by what they contain.
pub(super) struct Index {
    journeys: Journeys,
    /// Numbers that occur, in order.
    codes: Vec<Code>,
    /// Where the list of each number ends in `trips`.
    ends: Vec<usize>,
    trips: Vec<u32>,
    /// Cards that contain each number.
    sums: Vec<u64>,
    is_ordered: bool,
}

impl Index {
    /// For queries whose order counts.
    pub(super) fn ordered(journeys: Journeys) -> Self {
        Self::new(journeys, true)
    }

    /// For sets; trips are sets in order already.
    pub(super) fn sets(journeys: Journeys) -> Self {
        Self::new(journeys, false)
    }

    fn new(journeys: Journeys, is_ordered: bool) -> Self {
        let mut met: Vec<(Code, u32)> = Vec::new();
        for (trip, (path, _)) in (0_u32..).zip(journeys.iter()) {
            met.extend(Journeys::distinct(path).map(|code| (code, trip)));
        }
        met.sort_unstable();
        let (mut codes, mut ends, mut sums) = (Vec::new(), Vec::new(), Vec::new());
        let mut trips = Vec::with_capacity(met.len());
        for same in met.chunk_by(|a, b| a.0 == b.0) {
            codes.push(same[0].0);
            trips.extend(same.iter().map(|pair| pair.1));
            ends.push(trips.len());
            sums.push(same.iter().map(|pair| journeys.count(pair.1 as usize)).sum());
        }
        Self { journeys, codes, ends, trips, sums, is_ordered }
    }

    /// The trips that contain a number.
    fn holders(&self, code: Code) -> Option<(&[u32], u64)> {
        let at = self.codes.binary_search(&code).ok()?;
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some((&self.trips[start..self.ends[at]], self.sums[at]))
    }

    /// Cards whose trips contain a query.
    pub(super) fn count(&self, query: &[Code]) -> u64 {
        self.matching(query).map(|trip| self.journeys.count(trip)).sum()
    }

    /// The trips that contain a query: those of its rarest number, looked at one by one.
    pub(super) fn matching(&self, query: &[Code]) -> impl Iterator<Item = usize> + '_ {
        let lists: Option<Vec<&[u32]>> =
            query.iter().map(|&code| self.holders(code).map(|list| list.0)).collect();
        let rarest = lists.and_then(|lists| lists.into_iter().min_by_key(|list| list.len()));
        let query = query.to_vec();
        let is_held = move |trip: &usize| {
            let path = self.journeys.get(*trip);
            match self.is_ordered {
                true => contains(path, &query),
                false => query.iter().all(|code| path.binary_search(code).is_ok()),
            }
        };
        rarest.unwrap_or_default().iter().map(|&trip| trip as usize).filter(is_held)
    }

    /// The trips behind the numbers of [`Self::matching`].
    pub(super) fn journeys(&self) -> &Journeys {
        &self.journeys
    }

    /// The answers to queries, in their order, on every core.
    pub(super) fn answer(&self, queries: &[Vec<Code>]) -> Vec<f64> {
        let one = |query: &Vec<Code>| match query.as_slice() {
            [single] => self.holders(*single).map_or(0, |list| list.1),
            query => self.count(query),
        };
        queries.par_iter().map(|query| one(query) as f64).collect()
    }
}
