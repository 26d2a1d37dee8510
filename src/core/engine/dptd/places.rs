//! Where stations are, and which of them belong together in a slot: DBSCAN with weights, in whole numbers.

use crate::model::{StationIx, Stations};

/// Microdegrees of a great circle in a thousand kilometres.
const MICRODEGREES: i128 = 8_993_216;

/// Stations on a plane: microdegrees north, and as many east as are as long.
#[derive(Clone, Debug)]
pub(super) struct Plane {
    at: Vec<(i64, i64)>,
    /// For every station those within the radius, itself too.
    near: Vec<Vec<u32>>,
}

impl Plane {
    /// `Err` names the stations without coordinates.
    pub(super) fn new(stations: &Stations, radius_metres: u32) -> Result<Self, Vec<String>> {
        let at = stations.on_a_plane()?;
        let radius = i128::from(radius_metres) * MICRODEGREES / 1_000_000;
        let near = (0..at.len()).map(|one| {
            let is_near = |&other: &usize| squared(at[one], at[other]) <= radius * radius;
            (0..at.len()).filter(is_near).map(number).collect()
        });
        let near = near.collect();
        Ok(Self { at, near })
    }

    pub(super) fn n_stations(&self) -> usize {
        self.at.len()
    }

    pub(super) fn at(&self, station: u32) -> (i64, i64) {
        self.at[station as usize]
    }

    fn distance(&self, one: u32, other: u32) -> u128 {
        let squared = squared(self.at(one), self.at(other));
        squared.unsigned_abs().isqrt()
    }

    /// The clusters of one slot. A station is a core if those within the radius weigh at least `least` together; cores
    /// within the radius of each other are of one cluster, and every other station belongs to the nearest core. A slot
    /// without a core has a cluster for every station.
    pub(super) fn clusters(&self, weights: &[u64], least: u64) -> Clusters {
        let weight = |stations: &[u32]| stations.iter().map(|&s| weights[s as usize]).sum::<u64>();
        let is_core: Vec<bool> = self.near.iter().map(|near| weight(near) >= least).collect();
        let mut of: Vec<Option<u32>> = vec![None; self.at.len()];
        let mut n_clusters = 0;
        for first in 0..self.at.len() {
            if !is_core[first] || of[first].is_some() {
                continue;
            }
            let mut open = vec![number(first)];
            of[first] = Some(n_clusters);
            while let Some(one) = open.pop() {
                for &next in &self.near[one as usize] {
                    if is_core[next as usize] && of[next as usize].is_none() {
                        of[next as usize] = Some(n_clusters);
                        open.push(next);
                    }
                }
            }
            n_clusters += 1;
        }
        let cores: Vec<u32> = (0..number(of.len())).filter(|&one| is_core[one as usize]).collect();
        let nearest = |station: usize| {
            let core =
                cores.iter().min_by_key(|&&core| (self.distance(number(station), core), core));
            core.map_or(number(station), |&core| of[core as usize].expect("a core has a cluster"))
        };
        let of: Vec<u32> =
            of.iter().enumerate().map(|(at, known)| known.unwrap_or_else(|| nearest(at))).collect();
        if cores.is_empty() {
            n_clusters = number(of.len());
        }
        let centres = (0..n_clusters).map(|one| self.centre(one, &of, weights, &cores)).collect();
        Clusters { of, centres }
    }

    /// The core from which all of its cluster is nearest, by weight; the first of equals. Of a slot without cores the
    /// station itself.
    fn centre(&self, cluster: u32, of: &[u32], weights: &[u64], cores: &[u32]) -> StationIx {
        let members: Vec<u32> =
            (0..).zip(of).filter(|(_, c)| **c == cluster).map(|(s, _)| s).collect();
        let far = |core: u32| -> u128 {
            let one = |&member: &u32| {
                self.distance(core, member).saturating_mul(weights[member as usize].into())
            };
            members.iter().map(one).fold(0, u128::saturating_add)
        };
        let cores = cores.iter().copied().filter(|&core| of[core as usize] == cluster);
        StationIx(cores.min_by_key(|&core| (far(core), core)).unwrap_or(cluster))
    }
}

/// Which stations belong together in a slot.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Clusters {
    /// By station.
    pub(super) of: Vec<u32>,
    /// The station that stands for each.
    pub(super) centres: Vec<StationIx>,
}

/// The leaf of a quadtree around a place: a square is split into four while more than `most` of the points are in it.
/// Gives the points of the leaf.
pub(super) fn quadtree_leaf(
    points: &[(u32, (i64, i64))],
    place: (i64, i64),
    most: usize,
) -> Vec<u32> {
    let mut inside: Vec<(u32, (i64, i64))> = points.to_vec();
    let bounds = |pick: fn(&(i64, i64)) -> i64| {
        let values = points.iter().map(|(_, at)| pick(at));
        (values.clone().min().unwrap_or(0), values.max().unwrap_or(0))
    };
    let (mut north, mut east) = (bounds(|at| at.0), bounds(|at| at.1));
    while inside.len() > most && (north.1 > north.0 || east.1 > east.0) {
        let half = |(low, high): (i64, i64), value: i64| {
            let middle = low + (high - low) / 2;
            if value <= middle { (low, middle) } else { (middle + 1, high) }
        };
        (north, east) = (half(north, place.0), half(east, place.1));
        inside.retain(|(_, at)| {
            (north.0..=north.1).contains(&at.0) && (east.0..=east.1).contains(&at.1)
        });
    }
    inside.into_iter().map(|(station, _)| station).collect()
}

fn squared(a: (i64, i64), b: (i64, i64)) -> i128 {
    let (north, east) = (i128::from(a.0 - b.0), i128::from(a.1 - b.1));
    north * north + east * east
}

fn number(at: usize) -> u32 {
    u32::try_from(at).expect("at most a million stations")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plane(rows: &str, radius: u32) -> Plane {
        let text = format!("id,lat,lon\n{rows}");
        Plane::new(&Stations::from_csv(text.as_bytes()).unwrap(), radius).unwrap()
    }

    #[test]
    fn a_kilometre_is_a_kilometre_in_every_direction() {
        // 0.009° of latitude and 0.01273° of longitude at 45° are about a kilometre.
        let rows = "a,45.0,-73.0\nb,45.009,-73.0\nc,45.0,-72.98727\n";
        let near = |radius| plane(rows, radius).near[0].clone();
        assert_eq!(near(1_010), [0, 1, 2]);
        assert_eq!(near(990), [0]);
    }

    #[test]
    fn clusters_are_cores_that_are_near_and_all_others_go_to_the_nearest() {
        let rows = "a,45.000,-73\nb,45.001,-73\nc,45.010,-73\nd,45.100,-73\ne,45.101,-73\n";
        let plane = plane(rows, 200);
        let made = plane.clusters(&[6, 6, 1, 9, 9], 10);
        assert_eq!(made.of, [0, 0, 0, 1, 1], "c is no core and goes to the nearer cluster");
        assert_eq!(made.centres, [StationIx(1), StationIx(3)], "b is nearer to c than a is");
        let none = plane.clusters(&[1; 5], 100);
        assert_eq!(none.of, [0, 1, 2, 3, 4], "no cluster: every station by itself");
        assert_eq!(none.centres[3], StationIx(3));
    }

    #[test]
    fn equal_coordinates_are_one_cluster_and_missing_ones_are_named() {
        let one = plane("a,45,-73\nb,45,-73\nc,45,-73\n", 1).clusters(&[4, 4, 4], 10);
        assert_eq!((one.of, one.centres), (vec![0; 3], vec![StationIx(0)]));
        let listed = Stations::from_csv(b"id,lat,lon\na,45,-73\nb,,\nc,45,\n").unwrap();
        assert_eq!(Plane::new(&listed, 100).unwrap_err(), ["b", "c"]);
    }

    #[test]
    fn a_leaf_of_the_quadtree_holds_few_points_around_its_place() {
        let points: Vec<(u32, (i64, i64))> =
            (0..16).map(|n| (n, (i64::from(n / 4), i64::from(n % 4)))).collect();
        assert_eq!(quadtree_leaf(&points, (0, 0), 4), [0, 1, 4, 5]);
        assert_eq!(quadtree_leaf(&points, (3, 3), 1), [15]);
        assert_eq!(
            quadtree_leaf(&[(7, (5, 5)), (8, (5, 5))], (5, 5), 1),
            [7, 8],
            "one place cannot be split"
        );
    }
}
