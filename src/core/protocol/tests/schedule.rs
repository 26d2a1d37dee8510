//! When windows are released: not before they are due, and after a downtime all of them in order, or not at all.

use super::*;
use crate::model::Missed;

const DAY: SignedDuration = SignedDuration::from_hours(24);

/// A worker with three complete windows of days, and nothing released.
fn with_three_windows(schedule: Schedule) -> (Releaser<Rows>, [Window; 3]) {
    let mut plan = ReleasePlan { schedule, ..plan() };
    plan.budget.lifetime = None;
    let mut worker = active_with(plan);
    let id = |n: i64| WindowId::new(window().id().number() + n);
    let windows = [0, 1, 2].map(|n| calendar().window(id(n)).unwrap());
    for (n, window) in (0..).zip(&windows) {
        let nonce = [u8::try_from(n).unwrap() + 1; 24];
        polled(&mut worker, 3 + n, codec().finished(window.id(), 0, 1, &nonce)).unwrap();
    }
    (worker, windows)
}

/// What a worker does when it is this time, to the end.
fn at(worker: &mut Releaser<Rows>, now: Timestamp) -> Vec<String> {
    let wanted = worker.step(ReleaseEvent::Tick(now)).unwrap();
    let mut queue: std::collections::VecDeque<_> = wanted.into();
    let mut said = Vec::new();
    while let Some(effect) = queue.pop_front() {
        let event = match effect {
            ReleaseEffect::Freeze(job) => ReleaseEvent::Frozen(job.run()),
            ReleaseEffect::Preflight(..) => ReleaseEvent::Cleared,
            ReleaseEffect::Commit(_) => ReleaseEvent::Ended(Ended::Committed),
            ReleaseEffect::Make(job) => ReleaseEvent::Made(job.run()),
            ReleaseEffect::Publish(_) => ReleaseEvent::Published(Vec::new()),
            ReleaseEffect::Tell(ReleaseNote::Released { window, .. }) => {
                said.push(format!("released {window}"));
                continue;
            }
            ReleaseEffect::Tell(ReleaseNote::Withheld { window, refusal }) => {
                said.push(format!("{} {window}", refusal.reason()));
                continue;
            }
            _ => continue,
        };
        queue.extend(worker.step(event).unwrap());
    }
    said
}

fn six_two_days_later(missed: Missed) -> Schedule {
    let six = Some(jiff::civil::Time::constant(6, 0, 0, 0));
    Schedule { at: six, after_days: 2, missed, ..Schedule::default() }
}

#[test]
fn nothing_is_released_before_it_is_due() {
    let (mut worker, windows) = with_three_windows(six_two_days_later(Missed::All));
    let due = windows[0].end() + DAY * 2 + SignedDuration::from_hours(6);
    assert!(at(&mut worker, due - SignedDuration::from_secs(1)).is_empty());
    assert_eq!(at(&mut worker, due), [format!("released {}", windows[0])]);
    assert!(at(&mut worker, due).is_empty(), "the next one is due a day later");
    assert_eq!(at(&mut worker, due + DAY), [format!("released {}", windows[1])]);
}

#[test]
fn after_a_downtime_all_that_were_missed_are_released_in_order() {
    let (mut worker, windows) = with_three_windows(six_two_days_later(Missed::All));
    let much_later = windows[2].end() + DAY * 300;
    for window in &windows {
        assert_eq!(at(&mut worker, much_later), [format!("released {window}")]);
    }
    assert_eq!(worker.book().unwrap().spent(), MicroEpsilon::new(15));
}

/// What is too late costs nothing, and the position remembers that it has gone its way.
#[test]
fn with_a_limit_what_is_too_late_goes_without_a_release_and_is_not_paid() {
    let (mut worker, windows) = with_three_windows(six_two_days_later(Missed::Within(DAY)));
    let last_due = windows[2].end() + DAY * 2 + SignedDuration::from_hours(6);
    // The third is just due, the second is late by the limit, the first by more.
    assert_eq!(at(&mut worker, last_due), [format!("missed {}", windows[0])]);
    assert_eq!(at(&mut worker, last_due), [format!("released {}", windows[1])]);
    assert_eq!(at(&mut worker, last_due), [format!("released {}", windows[2])]);
    assert_eq!(worker.book().unwrap().spent(), MicroEpsilon::new(10));
    assert!(!worker.book().unwrap().is_paid(&windows[0]));
}

/// Its noise may have been seen: what was reserved before the downtime is settled, however late it is.
#[test]
fn what_is_paid_for_is_released_however_late() {
    let (mut worker, windows) = with_three_windows(six_two_days_later(Missed::Within(DAY)));
    let due = windows[0].end() + DAY * 2 + SignedDuration::from_hours(6);
    let mut wanted = worker.step(ReleaseEvent::Tick(due)).unwrap();
    let Some(ReleaseEffect::Freeze(job)) = wanted.pop() else { panic!("frozen first") };
    worker.step(ReleaseEvent::Frozen(job.run())).unwrap();
    let reserve = worker.step(ReleaseEvent::Cleared).unwrap();
    let [ReleaseEffect::Commit(reserve)] = &reserve[..] else { panic!("then reserved") };
    let position = Committed {
        offset: reserve.positions[0].offset,
        metadata: reserve.positions[0].metadata.clone(),
    };
    let genesis = Genesis {
        feed: Some("feed".to_owned()),
        first_window: Some(windows[0].id().number()),
        ..Genesis::new(now())
    };
    let mut lines = vec![opening(&secret().ledger_key(), genesis)];
    lines.extend(reserve.records.iter().map(|record| record.payload.clone()));
    // The worker died there; another takes over much later.
    let schedule = six_two_days_later(Missed::Within(DAY));
    let mut plan = ReleasePlan { schedule, ..plan() };
    plan.budget.lifetime = None;
    let mut next = Releaser::of_segments(plan);
    next.step(ReleaseEvent::Assigned(now())).unwrap();
    next.step(ReleaseEvent::PositionRead(Some(position), 3)).unwrap();
    next.step(ReleaseEvent::LedgerRead(lines)).unwrap();
    polled(&mut next, 3, codec().finished(windows[0].id(), 0, 1, &[1; 24])).unwrap();
    assert_eq!(at(&mut next, due + DAY * 300), [format!("released {}", windows[0])]);
}
