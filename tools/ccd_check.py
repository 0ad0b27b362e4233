#!/usr/bin/env python3
"""Compares our two continuous collision queries with ipctk's on random and on nasty queries.

    pip install ipctk numpy
    nice python3 tools/ccd_check.py [random queries] [nasty queries]

No collision may be missed: where ipctk (tight inclusion, no separation) finds one, so must we, and not later than it does up to its own
tolerance. Where we find one and there is none, that is a false alarm; there may be less than one in a hundred.

ipctk takes minutes or all the memory for some degenerate queries. So it runs in processes of its own that are ended when they don't get on, and it may look at
fewer boxes for nasty queries; then it answers too early, or finds a collision where there is none. Where it gave up, and where we don't agree with
it, a third one decides (`advance`): time goes on by distance over speed, as long as the distance is more than 1e-11. Those are counted apart. So a false alarm is one where
the two stay farther apart than that. Nasty queries that are 1e-15 off a contact are collisions for us, whose answer must hold for rounded corners, and often none for ipctk:
"only we find".
"""

import multiprocessing
import resource
import signal
import subprocess
import sys
import time

import numpy as np

PATIENCE = 0.3  # Seconds of the processor for one query of ipctk: ten thousand times what most take.
TOUCHING = 1e-11  # Distance that the third opinion takes for contact.
LATE = 1e-5  # Both other answers are early by up to their tolerance over the speed, and by the root of it where things graze.


def nasty(rng, count):
    """Coordinates on a coarse lattice: flat triangles, parallel and coplanar edges, points that don't move, contacts at the very ends."""
    queries = rng.integers(-2, 3, size=(count, 24)).astype(float)
    still = rng.random(count) < 0.2
    queries[still, 12:] = queries[still, :12]
    flat = rng.random(count) < 0.3
    queries[flat, 2::3] = 0.0
    # Some a little off the lattice, as rounding leaves them.
    off = rng.random(count) < 0.3
    queries[off] += rng.normal(size=(int(off.sum()), 24)) * 1e-15
    # Some copied corners: edges and triangles without extent.
    same = rng.random(count) < 0.1
    queries[np.ix_(same, range(6, 9))] = queries[np.ix_(same, range(3, 6))]
    queries[np.ix_(same, range(18, 21))] = queries[np.ix_(same, range(15, 18))]
    return queries


def ours(queries):
    command = ["cargo", "run", "--release", "--quiet", "-p", "ripstop", "--example", "ccd_queries"]
    run = subprocess.run(command, input=queries.astype("<f8").tobytes(), stdout=subprocess.PIPE, check=True)
    return np.frombuffer(run.stdout, dtype="<f8")


def ask_ipctk(queries, iterations, times, place, begin, end):
    """Answers queries begin … end into the shared `times`; `place` says at which it is. NaN stays where there is no answer."""
    import ipctk

    resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
    # No share of the first distance is kept between the two: contact itself.
    ccd = ipctk.TightInclusionCCD(tolerance=1e-6, max_iterations=iterations, conservative_rescaling=1.0)
    ipctk.set_logger_level(ipctk.LoggerLevel.off)
    for i in range(begin, end):
        place.value = i
        # Whoever takes longer is ended by the signal; that is counted in its own time, so other programs don't matter.
        signal.setitimer(signal.ITIMER_PROF, PATIENCE)
        a0, b0, c0, d0, a1, b1, c1, d1 = queries[i, 1:].reshape(8, 3)
        ask = ccd.point_triangle_ccd if queries[i, 0] == 0 else ccd.edge_edge_ccd
        try:
            hit, when = ask(a0, b0, c0, d0, a1, b1, c1, d1)
        except MemoryError:
            continue
        times[i] = when if hit else -1.0


class Worker:
    """A process that answers a range of queries, started again after the one that it ends with."""

    def __init__(self, queries, iterations, times, begin, end):
        self.rest = (queries, iterations, times)
        self.end = end
        self.start(begin)

    def start(self, begin):
        self.place = multiprocessing.Value("q", begin, lock=False)
        self.process = multiprocessing.Process(target=ask_ipctk, args=(*self.rest, self.place, begin, self.end))
        self.process.start()

    def done(self):
        """Starts it again if it has to be; whether all is answered."""
        if self.process.is_alive():
            return False
        self.process.join()
        after = self.place.value + 1
        if self.process.exitcode != 0 and after < self.end:
            self.start(after)
            return False
        return True


def theirs(queries, iterations):
    """Times, −1 without collision, NaN where ipctk gave up."""
    times = multiprocessing.RawArray("d", len(queries))
    answers = np.frombuffer(times)
    answers[:] = np.nan
    edges = np.linspace(0, len(queries), 3).astype(int)
    workers = [Worker(queries, iterations, times, a, b) for a, b in zip(edges, edges[1:])]
    while workers:
        time.sleep(0.02)
        workers = [worker for worker in workers if not worker.done()]
    return answers.copy()


def dot(a, b):
    return np.einsum("ni,ni->n", a, b)


def point_segment(p, a, b):
    along = b - a
    length = dot(along, along)
    s = np.clip(dot(p - a, along) / np.where(length > 0, length, 1), 0, 1)
    return np.linalg.norm(p - a - along * s[:, None], axis=1)


def distances(kinds, x):
    """Distances of points and triangles (kind 0) and of edges (kind 1): the least over all corners, sides and feet, each of which is a distance of
    two points of the two things."""
    out = np.empty(len(x))
    for kind in (0, 1):
        which = kinds == kind
        a, b, c, d = (x[which, k] for k in range(4))
        if kind == 0:
            least = np.minimum.reduce([point_segment(a, b, c), point_segment(a, c, d), point_segment(a, d, b)])
            n = np.cross(c - b, d - b)
            area = np.maximum(dot(n, n), 1e-300)
            u, v = dot(np.cross(a - b, d - b), n) / area, dot(np.cross(c - b, a - b), n) / area
            good = (u >= 0) & (v >= 0) & (u + v <= 1)
            foot = np.linalg.norm(a - b - (c - b) * u[:, None] - (d - b) * v[:, None], axis=1)
        else:
            least = np.minimum.reduce(
                [point_segment(a, c, d), point_segment(b, c, d), point_segment(c, a, b), point_segment(d, a, b)])
            n = np.cross(b - a, d - c)
            area = np.maximum(dot(n, n), 1e-300)
            s, t = dot(np.cross(c - a, d - c), n) / area, dot(np.cross(c - a, b - a), n) / area
            good = (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)
            foot = np.linalg.norm(a + (b - a) * s[:, None] - c - (d - c) * t[:, None], axis=1)
        out[which] = np.where(good, np.minimum(least, foot), least)
    return out


def advance(queries, most_steps=4_000):
    """First times at which the two are nearer than TOUCHING, −1 if never, NaN if not decided.

    Things that only graze come nearer by less and less, and so slow down; for them the least distance a little later is looked for."""
    times = np.full(len(queries), np.nan)
    kinds, begin, end = queries[:, 0], queries[:, 1:13].reshape(-1, 4, 3), queries[:, 13:].reshape(-1, 4, 3)
    moves = end - begin
    pairs = {0: [(0, 1), (0, 2), (0, 3)], 1: [(0, 2), (0, 3), (1, 2), (1, 3)]}
    speed = np.empty(len(queries))
    for kind, list_ in pairs.items():
        which = kinds == kind
        speed[which] = np.max([np.linalg.norm(moves[which, i] - moves[which, j], axis=1) for i, j in list_], axis=0)
    speed = np.maximum(speed, 1e-30)
    todo, t = np.arange(len(queries)), np.zeros(len(queries))
    for _ in range(most_steps):
        if not len(todo):
            break
        apart = distances(kinds[todo], begin[todo] + moves[todo] * t[todo, None, None])
        hit = apart <= TOUCHING
        times[todo[hit]] = t[todo[hit]]
        t[todo] += (apart - 0.5 * TOUCHING) / speed[todo]
        over = ~hit & (t[todo] > 1)
        times[todo[over]] = -1.0
        todo = todo[~hit & ~over]
    apart = lambda when: distances(kinds[todo], begin[todo] + moves[todo] * when[:, None, None])
    low, high = t[todo], np.minimum(t[todo] + 1e-2, 1.0)
    for _ in range(100):
        third = (high - low) / 3
        nearer = apart(low + third) <= apart(high - third)
        low, high = np.where(nearer, low, low + third), np.where(nearer, high - third, high)
    times[todo] = np.where(apart(low) <= TOUCHING, low, np.nan)
    return times


def compare(name, queries, iterations):
    began = time.monotonic()
    mine, other = ours(queries), theirs(queries, iterations)
    found = mine >= 0
    unknown = np.isnan(other)
    differ = ~unknown & ((found != (other >= 0)) | (found & (mine > other + LATE)))
    ruled = np.flatnonzero(unknown | differ)
    truth = other.copy()
    truth[ruled] = advance(queries[ruled])
    undecided = np.isnan(truth)
    hits = truth >= 0
    missed = hits & ~found
    late = hits & found & (mine > truth + LATE)
    alarms = (truth < 0) & found
    early = np.median((truth - mine)[hits & found]) if (hits & found).any() else 0.0
    print(f"{name}: {len(queries)} queries, {hits.sum()} collisions; ipctk gave up on {unknown.sum()}, we differ on {differ.sum()}, "
          f"of these {undecided.sum()} stay undecided\n"
          f"  {missed.sum()} missed, {late.sum()} told late, {alarms.sum()} false alarms ({100 * alarms.mean():.3f} %), "
          f"median earliness {early:.1e}; {time.monotonic() - began:.0f} s")
    print(f"  where we differ from ipctk: {(differ & found & ~(other >= 0)).sum()} only we find, {(differ & ~found).sum()} only ipctk finds, "
          f"{(differ & found & (other >= 0)).sum()} later than ipctk's; right are we in {(differ & ~missed & ~late & ~alarms & ~undecided).sum()}")
    for kind, which in (("missed", missed), ("late", late), ("false alarm", alarms), ("undecided", undecided)):
        for i in np.flatnonzero(which)[:3]:
            print(f"  {kind}: ours {mine[i]}, ipctk {other[i]}, third {truth[i]}: {queries[i].tolist()}")
    # Every answer of the third one is also held against queries on which all agree: it must not be the odd one.
    agreed = np.flatnonzero(~unknown & ~differ)[:5000]
    third = advance(queries[agreed])
    odd = ~np.isnan(third) & ((third >= 0) != (other[agreed] >= 0))
    print(f"  the third one, asked about {len(agreed)} on which we agree, differs on {odd.sum()}", flush=True)
    return not missed.any() and not late.any() and alarms.mean() < 0.01 and undecided.mean() < 0.01


def main():
    counts = [int(word) for word in sys.argv[1:]] + [1_000_000, 100_000][len(sys.argv) - 1:]
    good = True
    # Where a whole line of (t, u, v) is in contact ipctk takes seconds to a million iterations.
    for name, count, iterations, make in (
        ("random", counts[0], 1_000_000, lambda rng, n: rng.uniform(-1, 1, size=(n, 24))),
        ("nasty", counts[1], 5_000, nasty),
    ):
        rng = np.random.default_rng(5)
        kinds = rng.integers(0, 2, size=(count, 1)).astype(float)
        good &= compare(name, np.hstack([kinds, make(rng, count)]), iterations)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
