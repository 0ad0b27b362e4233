#!/usr/bin/env python3
"""Compares our two continuous collision queries with ipctk's on random and on nasty queries.

    pip install ipctk numpy
    python3 tools/ccd_check.py [random queries] [nasty queries]

No collision may be missed: where ipctk (tight inclusion, no separation) finds one, so must we, and not later than it does up to its own
tolerance. Where ipctk finds none and we do, that is a false alarm; there may be less than one in a hundred.
"""

import subprocess
import sys

import ipctk
import numpy as np


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


def theirs(queries, iterations):
    # No share of the first distance is kept between the two: contact itself.
    ccd = ipctk.TightInclusionCCD(tolerance=1e-6, max_iterations=iterations, conservative_rescaling=1.0)
    ipctk.set_logger_level(ipctk.LoggerLevel.error)
    times = np.full(len(queries), -1.0)
    for i, query in enumerate(queries):
        a0, b0, c0, d0, a1, b1, c1, d1 = query[1:].reshape(8, 3)
        ask = ccd.point_triangle_ccd if query[0] == 0 else ccd.edge_edge_ccd
        try:
            hit, time = ask(a0, b0, c0, d0, a1, b1, c1, d1)
        except MemoryError:
            # Some degenerate queries are more than it can hold.
            hit, time = True, np.nan
        if hit:
            times[i] = time
    return times


def compare(name, queries, iterations):
    mine, other = ours(queries), theirs(queries, iterations)
    unknown = np.isnan(other)
    hits, found = other >= 0, (mine >= 0) & ~unknown
    missed = hits & ~found
    # ipctk's own time is early by up to its tolerance over the speed.
    late = hits & found & (mine > other + 1e-5)
    alarms = found & ~hits
    print(f"{name}: {len(queries)} queries, {hits.sum()} collisions, {unknown.sum()} unknown to ipctk, {missed.sum()} missed, {late.sum()} later than ipctk's, "
          f"{alarms.sum()} false alarms ({100 * alarms.mean():.3f} %)")
    for kind, which in (("missed", missed), ("late", late)):
        for i in np.flatnonzero(which)[:3]:
            print(f"  {kind}: ours {mine[i]}, ipctk {other[i]}: {queries[i].tolist()}")
    return not missed.any() and alarms.mean() < 0.01


def main():
    counts = [int(word) for word in sys.argv[1:]] + [1_000_000, 100_000][len(sys.argv) - 1:]
    rng = np.random.default_rng(5)
    good = True
    # Where a whole line of (t, u, v) is in contact ipctk takes seconds to a million iterations; after fewer it answers early, never late.
    for name, count, iterations, make in (
        ("random", counts[0], 1_000_000, lambda n: rng.uniform(-1, 1, size=(n, 24))),
        ("nasty", counts[1], 5_000, lambda n: nasty(rng, n)),
    ):
        kinds = rng.integers(0, 2, size=(count, 1)).astype(float)
        good &= compare(name, np.hstack([kinds, make(count)]), iterations)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
