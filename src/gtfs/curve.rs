//! A curve through all places (Hilbert's), so that neighbours on it are neighbours in the city.

/// So many bits of each coordinate count: steps of less than a metre.
const BITS: u32 = 26;

/// Where on the curve a place lies; what has no place comes last.
pub(super) fn place(at: Option<(f64, f64)>) -> u64 {
    let Some((lat, lon)) = at else { return u64::MAX };
    let cells = f64::from(1_u32 << BITS);
    // Inside 0..cells: latitudes and longitudes were checked.
    let cell = |degrees: f64, most: f64| (((degrees + most) / (2.0 * most)) * (cells - 1.0)) as u64;
    along(cell(lon, 180.0), cell(lat, 180.0))
}

/// From coordinates to the distance along the curve, one bit of both at a time.
fn along(mut x: u64, mut y: u64) -> u64 {
    let mut distance = 0;
    for bit in (0..BITS).rev() {
        let side = 1_u64 << bit;
        let (right, upper) = (u64::from(x & side > 0), u64::from(y & side > 0));
        distance += side * side * ((3 * right) ^ upper);
        // Each quarter holds the curve again, turned.
        if upper == 0 {
            if right == 1 {
                (x, y) = (
                    (side - 1).wrapping_sub(x & (side - 1)),
                    (side - 1).wrapping_sub(y & (side - 1)),
                );
            }
            (x, y) = (y & (side - 1), x & (side - 1));
        } else {
            (x, y) = (x & (side - 1), y & (side - 1));
        }
    }
    distance
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A curve: every cell once, and each step goes to a neighbour.
    #[test]
    fn the_curve_passes_every_cell_and_never_jumps() {
        let side = 32_u64;
        let mut cells: Vec<(u64, u64, u64)> =
            (0..side).flat_map(|x| (0..side).map(move |y| (along(x, y), x, y))).collect();
        cells.sort_unstable();
        for (number, (distance, ..)) in cells.iter().enumerate() {
            assert_eq!(*distance, number as u64);
        }
        for pair in cells.windows(2) {
            assert_eq!(
                pair[0].1.abs_diff(pair[1].1) + pair[0].2.abs_diff(pair[1].2),
                1,
                "{pair:?}"
            );
        }
    }

    #[test]
    fn places_at_the_edge_of_the_world_have_a_place() {
        for corner in [(90.0, 180.0), (-90.0, -180.0), (0.0, 0.0)] {
            assert!(place(Some(corner)) < u64::MAX);
        }
        assert_eq!(place(None), u64::MAX);
    }
}
