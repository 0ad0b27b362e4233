//! Threads that share a loop, and stay awake for the next one.
//!
//! A step has hundreds of loops of ten to a hundred microseconds each. Waking a thread takes as long as such a loop (an interrupt to another core, through the hypervisor on a virtual machine), so threads that are
//! put to sleep in between never help. Here the thread that steps *calls* others of its rayon pool once; a *member* that has come watches for the next loop for a while before it leaves. A loop that finds it
//! there is handed out in a third of a microsecond; one that doesn't is begun alone, and who comes later takes of what is left.
//!
//! Each of the threads has a range of parts of its own, the same in every loop over the same table, so that these stay in the cache of its core; who has done its own takes from the end of others' ranges.
//! Which thread has done a part is nobody's concern: parts write to themselves alone.
//!
//! # The protocol
//! `state` has the number of the loop, how many members are inside, and whether it is open. The caller writes the loop's closure while nobody is inside, then opens it; a member enters by
//! raising the count of an open state, so it has seen the closure, and leaves by lowering it. The caller takes parts as well until there are none, closes, and waits until nobody is inside: no closure is
//! used after its loop has ended, also if it ends by a panic. Loops within loops are done by the thread that meets them.
#![allow(unsafe_code)] // A closure that lives for a loop is shown to threads that live longer, and each part of a table to one of them.

use std::any::Any;
use std::cell::{Cell, OnceCell, UnsafeCell};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// How often a member looks for the next loop before it leaves: about half a millisecond.
const PATIENCE: u32 = 20_000;

/// Loops after which a member leaves, to be called again: something else may wait for its thread.
const STINT: u32 = 1000;

/// Who waits lets others run each time after so many looks: there may be more threads than cores.
const LOOKS: u32 = 64;

/// Members are bits of a number.
const MOST: usize = 64;

/// The loop is open.
const OPEN: u64 = 1;
/// One member inside.
const INSIDE: u64 = 2;
/// One loop.
const NUMBER: u64 = 1 << 16;

/// A cache line, and the one that is fetched with it, for one number.
#[repr(align(128))]
#[derive(Default)]
struct Apart<T>(T);

/// What a loop does with a part.
type Work<'a> = dyn Fn(usize) + Sync + 'a;

/// Threads that share the loops of one.
struct Team {
    state: Apart<AtomicU64>,
    /// Written by the caller while the loop is closed and nobody is inside.
    work: UnsafeCell<*const Work<'static>>,
    /// Parts that are left of each range: the first, and the one behind the last.
    left: Box<[Apart<AtomicU64>]>,
    /// Members that have been called and not left.
    called: AtomicU64,
    /// What a member's part panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
    /// Loops so far, for the caller.
    count: AtomicUsize,
}

// SAFETY: `work` is written by the caller alone, while the loop is closed and nobody is inside (acquired from `state`), and read by members inside (released by the opening of `state`).
unsafe impl Sync for Team {}
// SAFETY: the pointer is used only inside a loop, whose caller outlives it; what it points to is `Sync`.
unsafe impl Send for Team {}

thread_local! {
    static TEAM: OnceCell<Arc<Team>> = const { OnceCell::new() };
    /// This thread is inside a loop.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// True if a loop would be shared.
pub fn is_shared() -> bool {
    !BUSY.get() && rayon::current_num_threads() > 1
}

/// Calls `work` with every number below `count`, each once.
pub fn run(count: usize, work: impl Fn(usize) + Sync) {
    if count <= 1 || !is_shared() {
        (0..count).for_each(work);
        return;
    }
    TEAM.with(|team| team.get_or_init(Team::new).run(count, &work));
}

impl Team {
    fn new() -> Arc<Self> {
        let threads = rayon::current_num_threads().min(MOST);
        Arc::new(Self {
            state: Apart::default(),
            work: UnsafeCell::new(std::ptr::from_ref::<Work<'static>>(&|_| {})),
            left: (0..threads).map(|_| Apart::default()).collect(),
            called: AtomicU64::new(0),
            panic: Mutex::new(None),
            count: AtomicUsize::new(0),
        })
    }

    fn run(self: &Arc<Self>, count: usize, work: &Work<'_>) {
        let threads = self.left.len();
        assert!(count <= u32::MAX as usize, "a loop of {count} parts");
        for (k, left) in self.left.iter().enumerate() {
            let [first, end] = [k, k + 1].map(|k| (k * count / threads) as u32);
            left.0.store(range(first, end), Ordering::Relaxed);
        }
        // SAFETY: nobody is inside; and nobody will be when the guard is dropped, before `work` ends to live.
        unsafe {
            *self.work.get() = std::mem::transmute::<*const Work<'_>, *const Work<'static>>(std::ptr::from_ref(work));
        }
        let number = self.count.fetch_add(1, Ordering::Relaxed) as u64 + 1;
        let guard = Closing(self);
        self.state.0.store((number * NUMBER) | OPEN, Ordering::Release);
        self.call(threads.min(count));
        BUSY.set(true);
        self.take(0, work);
        drop(guard);
        // A poisoned lock has what was put there all the same.
        let panic = self.panic.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        if let Some(panic) = panic {
            resume_unwind(panic);
        }
    }

    /// Calls the members of so many threads that aren't here.
    fn call(self: &Arc<Self>, threads: usize) {
        let all = (1..threads).fold(0, |all, id| all | 1 << id);
        let missing = all & !self.called.load(Ordering::Relaxed);
        for id in (1..threads).filter(|id| missing >> id & 1 == 1) {
            self.called.fetch_or(1 << id, Ordering::Relaxed);
            let team = Arc::clone(self);
            rayon::spawn(move || team.stay(id));
        }
    }

    /// A member: takes part in loops while they come.
    fn stay(&self, id: usize) {
        let (mut last, mut looks, mut loops) = (0, 0, 0);
        // Who is in a loop already has met this one while it waited for something else.
        while !BUSY.get() && looks < PATIENCE && loops < STINT {
            let state = self.state.0.load(Ordering::Acquire);
            let entered = state & OPEN != 0
                && state / NUMBER != last
                && (self.state.0).compare_exchange(state, state + INSIDE, Ordering::Acquire, Ordering::Relaxed).is_ok();
            if !entered {
                looks += 1;
                wait(looks);
                continue;
            }
            (last, looks, loops) = (state / NUMBER, 0, loops + 1);
            BUSY.set(true);
            // SAFETY: inside, so the caller has written it and waits.
            let work = unsafe { &**self.work.get() };
            if let Err(panic) = catch_unwind(AssertUnwindSafe(|| self.take(id, work))) {
                *self.panic.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(panic);
            }
            BUSY.set(false);
            self.state.0.fetch_sub(INSIDE, Ordering::Release);
        }
        self.called.fetch_and(!(1 << id), Ordering::Relaxed);
    }

    /// Does parts while there are any: its own from the first on, then others' from their last on.
    fn take(&self, id: usize, work: &Work<'_>) {
        let threads = self.left.len();
        while let Some(part) = self.next(id, true) {
            work(part);
        }
        for other in (1..threads).map(|k| (id + k) % threads) {
            while let Some(part) = self.next(other, false) {
                work(part);
            }
        }
    }

    /// The next part of a range, if there is one.
    fn next(&self, id: usize, own: bool) -> Option<usize> {
        let shorter = |left: u64| {
            let (first, end) = parts(left);
            (first < end).then(|| if own { range(first + 1, end) } else { range(first, end - 1) })
        };
        let left = self.left[id].0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, shorter).ok()?;
        let (first, end) = parts(left);
        Some(if own { first } else { end - 1 } as usize)
    }
}

/// A range as one number: its first part, and the one behind its last.
fn range(first: u32, end: u32) -> u64 {
    u64::from(first) << 32 | u64::from(end)
}

fn parts(range: u64) -> (u32, u32) {
    ((range >> 32) as u32, range as u32)
}

/// Looks again soon.
fn wait(looks: u32) {
    if looks.is_multiple_of(LOOKS) {
        std::thread::yield_now();
    } else {
        std::hint::spin_loop();
    }
}

/// Ends a loop, also if it panics.
struct Closing<'a>(&'a Team);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        let state = &self.0.state.0;
        let mut inside = state.fetch_and(!OPEN, Ordering::Acquire);
        let mut looks = 0;
        while inside % NUMBER > OPEN {
            looks += 1;
            wait(looks);
            inside = state.load(Ordering::Acquire);
        }
        BUSY.set(false);
    }
}

/// A table in chunks of some rows, each of which is taken by one thread.
pub struct Chunks<'a, T> {
    rows: *mut T,
    len: usize,
    size: usize,
    table: PhantomData<&'a mut [T]>,
}

// SAFETY: it is a table that is shared out among threads, chunk by chunk.
unsafe impl<T: Send> Sync for Chunks<'_, T> {}

impl<'a, T> Chunks<'a, T> {
    /// Chunks of so many rows, fewer in the last one.
    pub fn new(rows: &'a mut [T], size: usize) -> Self {
        assert!(size > 0, "chunks of some rows");
        Self { rows: rows.as_mut_ptr(), len: rows.len(), size, table: PhantomData }
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.len.div_ceil(self.size)
    }

    /// One of them.
    ///
    /// # Safety
    /// Nobody takes the same chunk while it is in use.
    pub unsafe fn take(&self, chunk: usize) -> &'a mut [T] {
        let first = chunk * self.size;
        assert!(first < self.len, "chunk {chunk} of {}", self.count());
        // SAFETY: it is part of the table, which is borrowed for `'a`, and nobody else has it.
        unsafe { std::slice::from_raw_parts_mut(self.rows.add(first), self.size.min(self.len - first)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    fn pool(threads: usize) -> rayon::ThreadPool {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
    }

    #[test]
    fn every_part_is_done_once_in_each_of_many_loops() {
        for threads in [2, 3, 5] {
            pool(threads).install(|| {
                for count in (0..40).chain([1000]) {
                    for _ in 0..200 {
                        let done: Vec<AtomicU32> = (0..count).map(|_| AtomicU32::new(0)).collect();
                        run(count, |part| {
                            done[part].fetch_add(1, Ordering::Relaxed);
                        });
                        assert!(done.iter().all(|done| done.load(Ordering::Relaxed) == 1), "{threads}, {count}");
                    }
                }
            });
        }
    }

    #[test]
    fn others_take_part() {
        let pool = pool(2);
        let threads = Mutex::new(std::collections::HashSet::new());
        pool.install(|| {
            // One part waits until another thread has come for the other.
            run(2, |_| {
                threads.lock().unwrap().insert(std::thread::current().id());
                while threads.lock().unwrap().len() < 2 {
                    std::thread::yield_now();
                }
            });
        });
    }

    #[test]
    fn loops_within_loops_and_beside_each_other_end() {
        let pool = pool(2);
        let count = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    pool.install(|| {
                        for _ in 0..200 {
                            run(4, |_| run(4, |_| _ = count.fetch_add(1, Ordering::Relaxed)));
                        }
                    });
                });
            }
        });
        assert_eq!(count.into_inner(), 4 * 200 * 16);
    }

    #[test]
    fn what_panics_in_a_part_panics_in_the_loop_and_the_next_loop_goes_on() {
        let pool = pool(2);
        pool.install(|| {
            for bad in [0, 7] {
                let loop_of = || run(8, |part| assert_ne!(part, bad, "a bad part"));
                assert!(catch_unwind(AssertUnwindSafe(loop_of)).is_err());
                let sum = AtomicU32::new(0);
                run(8, |part| _ = sum.fetch_add(part as u32, Ordering::Relaxed));
                assert_eq!(sum.into_inner(), 28);
            }
        });
    }

    #[test]
    fn chunks_are_the_table() {
        let mut rows: Vec<usize> = vec![0; 1000];
        let chunks = Chunks::new(&mut rows, 64);
        assert_eq!(chunks.count(), 16);
        // SAFETY: every chunk once.
        run(chunks.count(), |k| unsafe { chunks.take(k) }.iter_mut().enumerate().for_each(|(i, x)| *x = 64 * k + i));
        assert!(rows.iter().enumerate().all(|(i, &x)| i == x));
    }
}
