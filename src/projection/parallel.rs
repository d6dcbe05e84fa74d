//! Work on many things at once, for what is pure and takes long: reading lines and output.

use std::num::NonZero;
use std::thread::{self, ScopedJoinHandle};

/// Fewer items than this are not worth a thread.
const FEW: usize = 64;
/// As much as a main thread has: lines nest, and reading them recurses.
const STACK_BYTES: usize = 8 << 20;

/// Maps every item, in order, on as many threads as the machine has cores.
pub(super) fn map<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    if items.len() < FEW || cores == 1 {
        return items.iter().map(work).collect();
    }
    let share = items.len().div_ceil(cores);
    let work = &work;
    thread::scope(|scope| {
        let shares: Vec<_> = items
            .chunks(share)
            .map(|share| {
                let begun = thread::Builder::new()
                    .stack_size(STACK_BYTES)
                    .spawn_scoped(scope, move || share.iter().map(work).collect::<Vec<R>>());
                (share, begun)
            })
            .collect();
        shares
            .into_iter()
            .flat_map(|(share, begun)| match begun.map(ScopedJoinHandle::join) {
                Ok(Ok(done)) => done,
                Ok(Err(panic)) => std::panic::resume_unwind(panic),
                // The machine gives no more threads.
                Err(_) => share.iter().map(work).collect(),
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    #[test]
    fn order_is_kept() {
        for count in [0, 1, 63, 64, 1_000] {
            let items: Vec<usize> = (0..count).collect();
            let doubled: Vec<usize> = items.iter().map(|n| n * 2).collect();
            assert_eq!(super::map(&items, |n| n * 2), doubled);
        }
    }
}
