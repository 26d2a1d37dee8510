//! Where stations are, on a plane in whole numbers: the same on every machine.

use super::{Station, Stations};

impl Stations {
    /// Every station on a plane, in the order of ids: microdegrees north, and as many east as are as long in the middle
    /// of the list. `Err` has the ids of the stations without coordinates.
    pub fn on_a_plane(&self) -> Result<Vec<(i64, i64)>, Vec<String>> {
        let places: Vec<Option<(i64, i64)>> = self.iter().map(micro_degrees).collect();
        let without = self.iter().zip(&places).filter(|(_, place)| place.is_none());
        let without: Vec<String> = without.map(|(station, _)| station.id.clone()).collect();
        if !without.is_empty() {
            return Err(without);
        }
        let places: Vec<(i64, i64)> = places.into_iter().flatten().collect();
        let middle = places.iter().map(|place| i128::from(place.0)).sum::<i128>();
        let cosine = cosine(middle / places.len().max(1) as i128);
        let flat = |&(lat, lon): &(i64, i64)| {
            let east = i128::from(lon) * cosine / ONE;
            (lat, i64::try_from(east).expect("degrees are few"))
        };
        Ok(places.iter().map(flat).collect())
    }
}

/// Latitude and longitude; `None` without both.
fn micro_degrees(station: &Station) -> Option<(i64, i64)> {
    micro(station.lat.trim()).zip(micro(station.lon.trim()))
}

const ONE: i128 = 1_000_000_000_000;

/// The cosine of an angle in microdegrees, in parts of 10¹²: Taylor's series, the same on every machine.
fn cosine(micro_degrees: i128) -> i128 {
    let angle = micro_degrees * 17_453_292_519_943 / 1_000_000_000;
    let mut term = ONE;
    let mut sum = ONE;
    for n in 1..=14 {
        term = -term * angle / ONE * angle / ONE / ((2 * n - 1) * (2 * n));
        sum += term;
    }
    sum
}

/// A decimal as millionths; further digits are cut. `None` if it is no plain decimal.
fn micro(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if (whole.is_empty() && part.is_empty())
        || !is_plain(whole)
        || !is_plain(part)
        || whole.len() > 3
    {
        return None;
    }
    let part: String = part.chars().chain(std::iter::repeat('0')).take(6).collect();
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    Some(sign * (whole * 1_000_000 + part.parse::<i64>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cosines_and_decimals_are_what_they_are() {
        assert_eq!(cosine(0), ONE);
        assert!((cosine(60_000_000) - ONE / 2).abs() < 1_000);
        assert!(cosine(90_000_000).abs() < 1_000);
        assert_eq!(micro("-73.5"), Some(-73_500_000));
        assert_eq!(micro("45.1234567"), Some(45_123_456));
        assert_eq!([micro(""), micro("."), micro("1e3"), micro("north")], [None; 4]);
    }

    #[test]
    fn stations_without_coordinates_are_named() {
        let listed = Stations::from_csv(b"id,lat,lon\na,60,10\nb,,\nc,45,\n").unwrap();
        assert_eq!(listed.on_a_plane().unwrap_err(), ["b", "c"]);
        let there = Stations::from_csv(b"id,lat,lon\na,60,10\nb,60,-10\n").unwrap();
        let half = there.on_a_plane().unwrap();
        assert!(half.iter().all(|(lat, lon)| *lat == 60_000_000 && lon.abs() / 1_000 == 5_000));
    }
}
