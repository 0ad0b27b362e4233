//! Loops that may run on several threads and give the same bits for any number of them.
//!
//! Work is divided into chunks of a fixed size; each chunk writes only its own rows, and sums are taken per chunk
//! and then in the order of the chunks. So the result depends on the chunk size, never on who computed a chunk.

use rayon::prelude::*;

/// Rows per chunk: large enough that handing out a chunk (about 1 µs) is small beside its work.
pub const CHUNK: usize = 1024;

/// Calls `work(first, chunk)` for every `size` rows, of which `first` is the number of the first one.
pub fn for_each_chunk<T: Send>(rows: &mut [T], size: usize, work: impl Fn(usize, &mut [T]) + Sync) {
    let chunk = |(index, rows): (usize, &mut [T])| work(index * size, rows);
    if rows.len() <= size || rayon::current_num_threads() == 1 {
        rows.chunks_mut(size).enumerate().for_each(chunk);
    } else {
        rows.par_chunks_mut(size).enumerate().for_each(chunk);
    }
}

/// Calls `work(first, chunk, &mut each[k])` for the `k`th chunk of `size` rows, of which `first` is the first row.
pub fn for_each_domain<A: Send, B: Send>(
    rows: &mut [A],
    size: usize,
    each: &mut [B],
    work: impl Fn(usize, &mut [A], &mut B) + Sync,
) {
    assert_eq!(rows.len().div_ceil(size), each.len(), "one of each per chunk");
    let chunk = |(index, (rows, each)): (usize, (&mut [A], &mut B))| work(index * size, rows, each);
    if each.len() <= 1 || rayon::current_num_threads() == 1 {
        rows.chunks_mut(size).zip(each).enumerate().for_each(chunk);
    } else {
        rows.par_chunks_mut(size).zip(each).enumerate().for_each(chunk);
    }
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
    let chunk = |(index, (a, b)): (usize, (&mut [A], &mut [B]))| {
        for (k, (a, b)) in a.iter_mut().zip(b).enumerate() {
            work(index * CHUNK + k, a, b);
        }
    };
    if a.len() <= CHUNK || rayon::current_num_threads() == 1 {
        a.chunks_mut(CHUNK).zip(b.chunks_mut(CHUNK)).enumerate().for_each(chunk);
    } else {
        a.par_chunks_mut(CHUNK).zip(b.par_chunks_mut(CHUNK)).enumerate().for_each(chunk);
    }
}

/// Calls `work(first, a, b, c)` for every chunk of three tables of equal length, of which `first` is the first row.
pub fn for_each_triple<A: Send, B: Send, C: Send>(
    a: &mut [A],
    b: &mut [B],
    c: &mut [C],
    work: impl Fn(usize, &mut [A], &mut [B], &mut [C]) + Sync,
) {
    assert!(a.len() == b.len() && b.len() == c.len(), "tables of equal length");
    type Three<'a, A, B, C> = ((&'a mut [A], &'a mut [B]), &'a mut [C]);
    let chunk = |(index, ((a, b), c)): (usize, Three<'_, A, B, C>)| work(index * CHUNK, a, b, c);
    if a.len() <= CHUNK || rayon::current_num_threads() == 1 {
        a.chunks_mut(CHUNK).zip(b.chunks_mut(CHUNK)).zip(c.chunks_mut(CHUNK)).enumerate().for_each(chunk);
    } else {
        a.par_chunks_mut(CHUNK).zip(b.par_chunks_mut(CHUNK)).zip(c.par_chunks_mut(CHUNK)).enumerate().for_each(chunk);
    }
}

/// What `work` makes of every `size` items, in their order.
pub fn map<T: Sync, R: Send>(items: &[T], size: usize, work: impl Fn(&[T]) -> R + Sync + Send) -> Vec<R> {
    if items.len() <= size || rayon::current_num_threads() == 1 {
        items.chunks(size).map(work).collect()
    } else {
        items.par_chunks(size).map(work).collect()
    }
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
    if parts.len() <= 1 {
        parts.into_iter().for_each(work);
    } else {
        parts.into_par_iter().with_max_len(1).for_each(work);
    }
}

/// The sum of `term(i)` over `0..count`, chunk by chunk.
pub fn sum(count: usize, term: impl Fn(usize) -> f64 + Sync) -> f64 {
    let chunk = |index: usize| (index * CHUNK..count.min((index + 1) * CHUNK)).map(&term).sum::<f64>();
    let chunks = count.div_ceil(CHUNK);
    if chunks <= 1 || rayon::current_num_threads() == 1 {
        (0..chunks).map(chunk).sum()
    } else {
        let parts: Vec<f64> = (0..chunks).into_par_iter().map(chunk).collect();
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
