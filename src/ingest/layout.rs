//! Layouts of times that a feed has of its own.

use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, civil};

use super::time::resolve;
use crate::model::Reject;

/// A layout of times, in the words of `strptime`. It says year, month, day, hour and minute.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimeLayout(String);

impl TimeLayout {
    /// `None` if a time that is written so cannot be read again.
    pub fn new(layout: &str) -> Option<Self> {
        let moment = civil::date(2001, 12, 23).at(16, 45, 0, 0).to_zoned(TimeZone::UTC).ok()?;
        let text = BrokenDownTime::from(&moment).to_string(layout).ok()?;
        let again = BrokenDownTime::parse(layout, &text).ok()?;
        let is_same = again.to_datetime().is_ok_and(|again| again == moment.datetime());
        is_same.then(|| Self(layout.to_owned()))
    }

    /// The layout as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `None`: the text is not written so.
    pub(super) fn read(
        &self,
        text: &str,
        zone: Option<&TimeZone>,
    ) -> Option<Result<Timestamp, Reject>> {
        let parts = BrokenDownTime::parse(&self.0, text).ok()?;
        if parts.offset().is_some() {
            return Some(parts.to_timestamp().map_err(|_| Reject::BadTime));
        }
        let civil = parts.to_datetime().ok()?;
        Some(zone.map_or(Err(Reject::NoZone), |zone| resolve(zone, civil)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::time::TimeReader;
    use super::*;

    #[test]
    fn a_feed_may_have_layouts_of_its_own() {
        let layouts = ["%d/%m/%Y %H:%M", "%Y%m%d%H%M%S", "%m-%d-%y %I:%M %p %z"].map(|layout| {
            TimeLayout::new(layout).unwrap_or_else(|| panic!("{layout} says everything"))
        });
        let read = |zone: Option<&str>, text: &str| {
            let zone = zone.map(|name| TimeZone::get(name).unwrap());
            let mut reader = TimeReader::new(zone).with_layouts(layouts.to_vec());
            reader.read(text).map(|instant| instant.to_string())
        };
        let (shanghai, instant) = (Some("Asia/Shanghai"), Ok("2018-08-31T14:14:00Z".to_owned()));
        assert_eq!(read(shanghai, "31/08/2018 22:14"), instant);
        assert_eq!(read(shanghai, "20180831221400"), instant, "not milliseconds");
        assert_eq!(read(None, "08-31-18 10:14 PM +0800"), instant);
        assert_eq!(
            read(shanghai, "2018-08-31 22:14:00"),
            instant,
            "the usual forms are still read"
        );
        assert_eq!(read(None, "31/08/2018 22:14"), Err(Reject::NoZone));
        assert_eq!(read(shanghai, "31.08.2018"), Err(Reject::BadTime));
        for wrong in ["", "%H:%M", "%Y-%m-%d", "%Y-%m-%d %I:%M", "%Q", "2018"] {
            assert!(TimeLayout::new(wrong).is_none(), "{wrong}");
        }
    }
}
