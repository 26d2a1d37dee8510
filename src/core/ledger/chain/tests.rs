use jiff::tz::TimeZone;

use super::*;
use crate::model::{Calendar, Cost, MicroEpsilon, WindowId};
use crate::secret::Secret;

fn key(byte: u8) -> LedgerKey {
    Secret::from_bytes(&[byte; 32]).unwrap().ledger_key()
}

fn genesis() -> Genesis {
    Genesis::new("2015-11-09T04:00:00Z".parse().unwrap())
}

fn calendar() -> Calendar {
    Calendar::new(TimeZone::UTC, 86_400, 4 * 3_600, 3_600).unwrap()
}

fn settings() -> Settings {
    Settings { feed: "metro".to_owned(), calendar: calendar(), lifetime: None, horizon: None }
}

fn request(day: i64, batch: u8) -> Request {
    let window = calendar().window(WindowId::new(day)).unwrap();
    let (batch, configuration) = (Mac::from_bytes([batch; 32]), Digest::of(b"configuration"));
    let request =
        Request::of_nobody(window, batch, configuration, Cost::differential(MicroEpsilon::new(5)));
    Request { feed_key: key(7).feed_key().clone(), ..request }
}

/// A ledger with its opening line, and the line.
fn opened() -> (Chain, Vec<u8>) {
    let line = opening(&key(7), genesis());
    (Chain::read_all(key(7), std::slice::from_ref(&line)).unwrap(), line)
}

fn pay(chain: &mut Chain, request: &Request) -> Reservation {
    let Step::Write(pending) = chain.request(request, &settings()) else {
        panic!("it is not booked yet");
    };
    let Outcome::Granted { permit, .. } = chain.granted(pending).unwrap() else {
        panic!("it was written");
    };
    permit.redeem()
}

#[test]
fn an_opening_line_names_the_feed_key_from_version_2_on() {
    let named = format!("\"feed_key\":\"{}\"", key(7).feed_key());
    let (_, line) = opened();
    assert!(String::from_utf8(line).unwrap().contains(&named));
    let first = Genesis { version: 1, ..genesis() };
    let line = String::from_utf8(opening(&key(7), first)).unwrap();
    assert!(!line.contains("feed_key"), "{line}");
}

#[test]
fn another_secret_is_told_from_a_first_record_that_is_missing() {
    let (mut chain, line) = opened();
    let other = Chain::new(key(8)).read(&line);
    assert_eq!(other, Err(ChainFault::OtherSecret));
    let Step::Write(second) = chain.request(&request(3, 1), &settings()) else { panic!() };
    let second = second.payload().to_vec();
    // The second record in the first place: nothing says that the secret is wrong.
    let missing = Chain::new(key(7)).read(&second);
    assert!(matches!(missing, Err(ChainFault::Broken { sequence: 0, .. })), "{missing:?}");
    // An opening line in the second place is broken whoever wrote it.
    let again = chain.read(&line);
    assert!(matches!(again, Err(ChainFault::Broken { sequence: 1, .. })), "{again:?}");
    chain.read(&second).unwrap();
}

#[test]
fn what_was_there_is_known_by_its_number_and_its_mac() {
    let (mut chain, _) = opened();
    let first = chain.head;
    pay(&mut chain, &request(3, 1));
    let second = chain.head;
    assert!(chain.had(1, &first) && chain.had(2, &second));
    assert!(!chain.had(1, &second) && !chain.had(2, &first), "the other's place");
    assert!(!chain.had(0, &first) && !chain.had(3, &second), "no such place");
}

#[test]
fn a_request_knows_the_number_of_its_release() {
    let (mut chain, _) = opened();
    let first = request(3, 1);
    assert_eq!(chain.revision(&first, &settings()), 0);
    let booked = pay(&mut chain, &first);
    let line = chain.settlement(&booked, &Digest::of(b"rows")).unwrap().unwrap();
    chain.written(line).unwrap();
    let edition = super::super::Edition::Revision { why: "late taps".to_owned() };
    let revised = Request { edition, ..request(3, 2) };
    assert_eq!(chain.revision(&revised, &settings()), 1, "before it is paid");
    pay(&mut chain, &revised);
    assert_eq!(chain.revision(&revised, &settings()), 1, "and after");
    assert_eq!(chain.revision(&first, &settings()), 0);
}

#[test]
fn a_settled_release_is_settled_once_and_never_with_another_digest() {
    let (mut chain, _) = opened();
    let booked = pay(&mut chain, &request(3, 1));
    let (rows, others) = (Digest::of(b"rows"), Digest::of(b"others"));
    let line = chain.settlement(&booked, &rows).unwrap().expect("it is not settled yet");
    chain.written(line).unwrap();
    assert!(chain.settlement(&booked, &rows).unwrap().is_none());
    let refused = chain.settlement(&booked, &others).err().unwrap().to_string();
    assert!(refused.contains("another release than the first time"), "{refused}");
    let unknown = Reservation { sequence: 9, ..booked };
    let refused = chain.settlement(&unknown, &rows).err().unwrap().to_string();
    assert!(refused.contains("never reserved"), "{refused}");
}
