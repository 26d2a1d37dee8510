//! A record of `segments` that is not ours.

use super::*;

/// What the release of the window is worth: the rows of a worker that has read these records from offset 3 on.
fn released(plan: ReleasePlan<Rows>, records: &[Vec<u8>]) -> Result<(Vec<u64>, Vec<i64>), Error> {
    let mut worker = active_with(plan);
    let mut passed = Vec::new();
    for (offset, payload) in (3..).zip(records) {
        let records = vec![SegmentRecord { offset, payload: payload.clone() }];
        for effect in worker.step(ReleaseEvent::Polled(records))? {
            match effect {
                ReleaseEffect::Tell(ReleaseNote::PassedOver(offset)) => passed.push(offset),
                _ => panic!("nothing else is wanted"),
            }
        }
    }
    let mut wanted = worker.step(ReleaseEvent::Tick(now()))?;
    loop {
        let answer = match wanted.remove(0) {
            ReleaseEffect::Freeze(job) => ReleaseEvent::Frozen(job.run()),
            ReleaseEffect::Tell(_) => continue,
            ReleaseEffect::Preflight(..) => ReleaseEvent::Cleared,
            ReleaseEffect::Commit(_) => ReleaseEvent::Ended(Ended::Committed),
            ReleaseEffect::Make(job) => ReleaseEvent::Made(job.run()),
            ReleaseEffect::Publish(made) => return Ok((made.rendered().clone(), passed)),
            _ => panic!("not on the way to a release"),
        };
        wanted.extend(worker.step(answer)?);
    }
}

fn passing(offsets: &[i64]) -> ReleasePlan<Rows> {
    ReleasePlan { pass_segments: offsets.iter().copied().collect(), ..plan() }
}

#[test]
fn a_record_that_is_not_ours_is_passed_over_by_its_offset_and_loses_no_tap() {
    let id = window().id();
    let before = codec().taps(id, 0, &stamps(0), &[1; 24]);
    let other_card = Stamp::new(CardKey::from_halves([3, 4]), 5, StationIx(1), None);
    let after = codec().taps(id, 0, &[other_card], &[2; 24]);
    let marker = codec().finished(id, 0, 1, &[3; 24]);
    let own = [before.clone(), after.clone(), marker.clone()];
    let (expected, passed) = released(plan(), &own).unwrap();
    assert_eq!(passed, Vec::<i64>::new());
    for lost in [[before.clone(), marker.clone()], [after.clone(), marker.clone()]] {
        assert_ne!(released(plan(), &lost).unwrap().0, expected, "a lost tap shows");
    }

    let foreign = Secret::from_bytes(&[8; 32]).unwrap();
    let foreign = SegmentCodec::new(foreign, "feed".to_owned(), Digest::of(b"layout"));
    let strange = [
        b"garbage".to_vec(),
        Vec::new(),
        foreign.taps(id, 0, &stamps(0), &[4; 24]),
        // Authentic, but of a station that does not exist.
        codec().taps(id, 0, &stamps(2), &[5; 24]),
    ];
    for strange in strange {
        let records = [before.clone(), strange, after.clone(), marker.clone()];
        let error = released(plan(), &records).unwrap_err();
        assert!(error.to_string().contains("kafka.pass_segments = [4]"), "{error}");
        released(passing(&[3, 5]), &records).unwrap_err();
        assert_eq!(released(passing(&[4]), &records).unwrap(), (expected.clone(), vec![4]));
    }
}

#[test]
fn a_record_that_is_ours_counts_even_if_its_offset_is_listed() {
    let id = window().id();
    let own = [
        codec().taps(id, 0, &stamps(0), &[1; 24]),
        codec().taps(id, 0, &stamps(1), &[2; 24]),
        codec().finished(id, 0, 1, &[3; 24]),
    ];
    let all = passing(&[3, 4, 5]);
    assert_eq!(released(all, &own).unwrap(), released(plan(), &own).unwrap());
}
