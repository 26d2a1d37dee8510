//! Work in pieces that are the same for any number of threads, so that the number never shows in a result.

use std::num::NonZeroUsize;

use rayon::iter::{ParallelBridge, ParallelIterator};

/// Does every task, on every core unless one thread is wanted; which thread does it and when changes nothing, because
/// tasks share nothing.
pub(super) fn for_each<T: Send>(
    threads: NonZeroUsize,
    tasks: impl Iterator<Item = T> + Send,
    work: impl Fn(T) + Sync,
) {
    if threads.get() == 1 {
        tasks.for_each(work);
        return;
    }
    tasks.par_bridge().for_each(&work);
}

/// The results of all tasks, in the order of the tasks.
pub(super) fn map<T: Send, R: Send>(
    threads: NonZeroUsize,
    tasks: Vec<T>,
    work: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    let mut results: Vec<Option<R>> = tasks.iter().map(|_| None).collect();
    for_each(threads, tasks.into_iter().zip(&mut results), |(task, result)| {
        *result = Some(work(task));
    });
    results.into_iter().map(|result| result.expect("every task was done")).collect()
}

/// `n` things in at most `parts` stretches of nearly equal length.
pub(super) fn stretches(n: usize, parts: usize) -> Vec<std::ops::Range<usize>> {
    let parts = parts.clamp(1, n.max(1));
    (0..parts).map(|part| n * part / parts..n * (part + 1) / parts).collect()
}
