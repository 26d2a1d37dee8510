//! What must hold after every run, whoever died when. The truth is computed from the log of the taps alone.

use std::collections::BTreeMap;

use tapveil_core::ledger::read_book;
use tapveil_core::model::{Reject, WindowId};
use tapveil_core::passenger::Stamp;
use tapveil_core::protocol::Render;
use tapveil_core::seal::SealedWindow;

use crate::broker::{Fate, LogName};
use crate::schedule::Run;
use crate::worker::ledger_lines;
use crate::world::{PRICE, Rows};

/// What an undisturbed run would give.
struct Truth {
    /// Bytes of the release by window.
    releases: BTreeMap<i64, Vec<u8>>,
    /// Rejects by partition and offset.
    rejects: BTreeMap<(i32, i64), Reject>,
}

/// Everything that must hold.
pub fn all(run: &Run) -> Result<(), String> {
    let truth = truth(run);
    released_once(run, &truth)?;
    rejects(run, &truth)?;
    booked_once(run)?;
    match run.seen.noise.iter().find(|(_, is_paid)| !is_paid) {
        Some((window, _)) => {
            Err(format!("noise of window {window} was drawn before its price was durable"))
        }
        None => Ok(()),
    }
}

/// What is there is right, even if not everything is there: for runs that had to stop.
pub fn so_far(run: &Run) -> Result<(), String> {
    let truth = truth(run);
    for (_, entry, _) in run.broker.all(LogName::Releases) {
        same_bytes(entry.key.as_deref(), entry.payload.as_deref(), &truth)?;
    }
    Ok(())
}

fn truth(run: &Run) -> Truth {
    let world = &run.world;
    let rules = world.rules();
    let mut stamps: BTreeMap<i64, Vec<Stamp>> = BTreeMap::new();
    let mut rejects = BTreeMap::new();
    for partition in 0..run.broker.n_partitions() {
        for (offset, entry, fate) in run.broker.all(LogName::Taps(partition)) {
            if fate != Fate::Committed {
                continue;
            }
            let judged =
                world.judge(&rules, entry.payload.as_deref().unwrap_or_default(), entry.stamp);
            match judged.tap {
                Ok(tap) => stamps.entry(tap.window().number()).or_default().push(tap.stamp()),
                Err(reason) => drop(rejects.insert((partition, offset), reason)),
            }
        }
    }
    let release = |number: i64| {
        let window =
            world.calendar.window(WindowId::new(number)).expect("windows of a minute always exist");
        let taps = stamps.get(&number).cloned().unwrap_or_default();
        let plan = world.release_plan();
        let sealed = SealedWindow::freeze(window.clone(), taps, None, &world.secret);
        let noise = world.secret.noise_key(window.id(), sealed.mac(), &plan.configuration, 0);
        let permit =
            tapveil_core::engine::fixture::permit(&*plan.engine, &sealed, plan.configuration);
        let release =
            plan.engine.sanitize(&sealed, permit, &noise).expect("the permit is for this");
        (number, Rows.render(&release).expect("rows are rendered"))
    };
    Truth { releases: world.windows.clone().map(release).collect(), rejects }
}

/// Every release record, committed or aborted, is what an undisturbed run writes; every window has one.
fn released_once(run: &Run, truth: &Truth) -> Result<(), String> {
    let mut committed: BTreeMap<Vec<u8>, u32> = BTreeMap::new();
    for (_, entry, fate) in run.broker.all(LogName::Releases) {
        let key = entry.key.clone().unwrap_or_default();
        same_bytes(Some(&key), entry.payload.as_deref(), truth)?;
        if fate == Fate::Committed {
            *committed.entry(key).or_default() += 1;
        }
    }
    for window in run.world.windows.clone() {
        match committed.get(&window.to_le_bytes()[..]) {
            Some(2) => {}
            Some(n) => {
                return Err(format!(
                    "window {window} has {n} release records, not 2: published twice, or torn"
                ));
            }
            None => return Err(format!("window {window} was never released")),
        }
    }
    match run.seen.changed.first() {
        Some(window) => Err(format!("the files of window {window} changed")),
        None => Ok(()),
    }
}

fn same_bytes(key: Option<&[u8]>, payload: Option<&[u8]>, truth: &Truth) -> Result<(), String> {
    let number =
        key.and_then(|key| key.try_into().ok()).map(i64::from_le_bytes).unwrap_or_default();
    let is_right =
        payload == Some(b"end") || payload == truth.releases.get(&number).map(Vec::as_slice);
    match is_right {
        true => Ok(()),
        false => Err(format!(
            "window {number} was written with other bytes than an undisturbed run gives"
        )),
    }
}

/// Every tap that does not count is noted once, for its own reason. Clocks kept within the margin, so nobody was
/// sealed out.
fn rejects(run: &Run, truth: &Truth) -> Result<(), String> {
    let mut noted: BTreeMap<String, u32> = BTreeMap::new();
    for (_, entry, fate) in run.broker.all(LogName::Rejects) {
        if fate == Fate::Committed {
            let text =
                String::from_utf8_lossy(entry.payload.as_deref().unwrap_or_default()).into_owned();
            *noted.entry(text).or_default() += 1;
        }
    }
    let line = |((partition, offset), reason): (&(i32, i64), &Reject)| {
        let text = format!(
            "{{\"topic\":\"taps\",\"partition\":{partition},\"offset\":{offset},\"reason\":\"{}\"}}",
            reason.label()
        );
        (text, 1)
    };
    let expected: BTreeMap<String, u32> = truth.rejects.iter().map(line).collect();
    match noted == expected {
        true => Ok(()),
        false => Err(format!("rejects {noted:?}, expected {expected:?}")),
    }
}

/// The chain is whole; every window was paid once and settled once.
fn booked_once(run: &Run) -> Result<(), String> {
    let book = read_book(&run.world.secret.ledger_key(), &ledger_lines(&run.broker));
    let book = book.map_err(|fault| fault.to_string())?;
    let n_windows = run.world.windows.end - run.world.windows.start;
    for entry in book.entries() {
        if entry.settled.is_none() {
            return Err(format!("{:?} was paid and never settled", entry.reservation.window));
        }
    }
    let spent = book.spent().micro();
    match spent == PRICE * n_windows.unsigned_abs() {
        true => Ok(()),
        false => Err(format!("{spent} micro-epsilon booked for {n_windows} windows")),
    }
}
