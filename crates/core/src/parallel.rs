//! Loops that may run on several threads and give the same bits for any number of them.
//!
//! Work is divided into chunks of a fixed size; each chunk writes only its own rows, and sums are taken per chunk
//! and then in the order of the chunks. So the result depends on the chunk size, never on who computed a chunk.
//! Who computes them is told in [`crate::team`].
#![allow(unsafe_code)] // Chunks are handed out by number.

use crate::team::{self, Chunks};

/// Rows per chunk: large enough that handing out a chunk is small beside its work.
pub const CHUNK: usize = 1024;

/// Calls `work(first, chunk)` for every `size` rows, of which `first` is the number of the first one.
pub fn for_each_chunk<T: Send>(rows: &mut [T], size: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    let chunks = Chunks::new(rows, size);
    // SAFETY: each chunk once.
    team::run(chunks.count(), |k| work(k * size, unsafe { chunks.take(k) }));
}

/// Calls `work(first, chunk, &mut each[k])` for the `k`th chunk of `size` rows, of which `first` is the first row.
pub fn for_each_domain<A: Send, B: Send>(
    rows: &mut [A],
    size: usize,
    each: &mut [B],
    work: impl Fn(usize, &mut [A], &mut B) + Sync,
) {
    let (chunks, each) = (Chunks::new(rows, size), Chunks::new(each, 1));
    assert_eq!(chunks.count(), each.count(), "one of each per chunk");
    // SAFETY: each chunk once.
    team::run(chunks.count(), |k| work(k * size, unsafe { chunks.take(k) }, unsafe { &mut each.take(k)[0] }));
}

/// Calls `work(i, &mut rows[i])` for every row.
pub fn for_each<T: Send>(rows: &mut [T], work: impl Fn(usize, &mut T) + Sync) {
    for_each_chunk(rows, CHUNK, |first, rows| {
        for (k, row) in rows.iter_mut().enumerate() {
            work(first + k, row);
        }
    });
}

/// Calls `work(i, &mut a[i], &mut b[i])` for every row of two tables of equal length.
pub fn for_each_pair<A: Send, B: Send>(a: &mut [A], b: &mut [B], work: impl Fn(usize, &mut A, &mut B) + Sync) {
    assert_eq!(a.len(), b.len(), "tables of equal length");
    let (a, b) = (Chunks::new(a, CHUNK), Chunks::new(b, CHUNK));
    team::run(a.count(), |chunk| {
        // SAFETY: each chunk once.
        let (a, b) = unsafe { (a.take(chunk), b.take(chunk)) };
        for (k, (a, b)) in a.iter_mut().zip(b).enumerate() {
            work(chunk * CHUNK + k, a, b);
        }
    });
}

/// Calls `work(first, a, b, c)` for every chunk of three tables of equal length, of which `first` is the first row.
pub fn for_each_triple<A: Send, B: Send, C: Send>(
    a: &mut [A],
    b: &mut [B],
    c: &mut [C],
    work: impl Fn(usize, &mut [A], &mut [B], &mut [C]) + Sync,
) {
    assert!(a.len() == b.len() && b.len() == c.len(), "tables of equal length");
    let (a, b, c) = (Chunks::new(a, CHUNK), Chunks::new(b, CHUNK), Chunks::new(c, CHUNK));
    // SAFETY: each chunk once.
    team::run(a.count(), |k| unsafe { work(k * CHUNK, a.take(k), b.take(k), c.take(k)) });
}

/// What `work` makes of every `size` items, in their order.
pub fn map<T: Sync, R: Send>(items: &[T], size: usize, work: impl Fn(&[T]) -> R + Sync + Send) -> Vec<R> {
    let mut made: Vec<Option<R>> = items.chunks(size).map(|_| None).collect();
    for_each_chunk(&mut made, 1, |k, made| made[0] = Some(work(&items[k * size..items.len().min((k + 1) * size)])));
    made.into_iter().flatten().collect()
}

/// In how many parts to divide `count` rows where the division changes no bit: some for each thread.
pub fn part_count(count: usize) -> usize {
    match rayon::current_num_threads() {
        1 => 1,
        threads => (4 * threads).min(count.div_ceil(CHUNK)).max(1),
    }
}

/// Calls `work` for every part, of which there should be [few](part_count).
pub fn for_each_part<T: Send>(parts: Vec<T>, work: impl Fn(T) + Sync + Send) {
    let mut parts: Vec<Option<T>> = parts.into_iter().map(Some).collect();
    for_each_chunk(&mut parts, 1, |_, part| part[0].take().into_iter().for_each(&work));
}

/// Sorts rows by a key that no two of them share.
pub fn sort_by_key<T: Send, K: Ord>(rows: &mut [T], key: impl Fn(&T) -> K + Sync) {
    let parts = part_count(rows.len());
    if parts > 1 {
        let size = rows.len().div_ceil(parts);
        for_each_chunk(rows, size, |_, rows| rows.sort_unstable_by_key(&key));
        // It merges what is sorted already.
        rows.sort_by_key(key);
    } else {
        rows.sort_unstable_by_key(key);
    }
}

/// The sum of `term(i)` over `0..count`, chunk by chunk.
pub fn sum(count: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    let chunk = |index: usize| (index * CHUNK..count.min((index + 1) * CHUNK)).map(&term).sum::<f64>();
    let chunks = count.div_ceil(CHUNK);
    if chunks <= 1 || !team::is_shared() {
        (0..chunks).map(chunk).sum()
    } else {
        let mut parts = vec![0.0; chunks];
        for_each_chunk(&mut parts, 1, |index, part| part[0] = chunk(index));
        parts.into_iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_do_not_change_a_bit() {
        let compute = || {
            let mut rows = vec![0.0; 10_000];
            for_each(&mut rows, |i, x| *x = 1.0 / (i as f64 + 0.3));
            (rows.clone(), sum(rows.len(), |i| rows[i]).to_bits())
        };
        let pool = |n| rayon::ThreadPoolBuilder::new().num_threads(n).build().unwrap();
        assert_eq!(pool(1).install(compute), pool(3).install(compute));
    }
}
