//! Progress of long work: a bar on a terminal, plain lines elsewhere, nothing with `--json`.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::failure::remark;
use crate::metrics::Board;
use crate::model::Window;
use crate::pipeline::Watch;

/// Shows how far work is.
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    lines: bool,
}

impl Progress {
    /// For work of so many steps; `quiet` shows nothing.
    pub(super) fn new(total: u64, unit: &str, quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = (terminal && !quiet).then(|| {
            let bar = ProgressBar::new(total);
            let form = format!("{{msg:24}} {{wide_bar}} {{percent:>3}} % {{per_sec}} {unit}");
            bar.set_style(
                ProgressStyle::with_template(&form).expect("the form above is well made"),
            );
            bar
        });
        Self { bar, lines: !terminal && !quiet }
    }

    /// Says what is being done.
    pub(super) fn say(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.to_owned());
        }
        if self.lines {
            remark(what);
        }
    }

    /// So far.
    pub(super) fn at(&self, position: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(position);
        }
    }

    /// Shows the board's bytes until the work is done.
    pub(super) fn follow<T>(&self, board: &Board, work: impl FnOnce() -> T) -> T {
        let Some(bar) = &self.bar else { return work() };
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    bar.set_position(board.bytes());
                    std::thread::sleep(Duration::from_millis(50));
                }
            });
            let result = work();
            done.store(true, Ordering::Relaxed);
            result
        })
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Watch for Progress {
    fn window(&self, number: usize, of: usize, window: &Window) {
        self.say(&format!("window {} of {of}: {window}", number + 1));
    }
}
