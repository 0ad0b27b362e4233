//! Nothing passes through anything: the last word of a step.
//!
//! Everything has gone straight from where it was at the beginning of the step to where it is now. A pair that meets on the way, at time t of 0 … 1, is a hit. Rounds:
//! 1. impulses: of a pair's relative motion along the normal at t only the share t is kept, so it ends where it would have met, and none of it if it was nearer than that at the beginning; friction takes of its slip what Coulomb allows.
//!    All hits of a round one after the other, in the order of their pairs; then what moved is looked at again.
//! 2. zones, after `IMPULSES` rounds: all that hit each other move as one rigid thing, with the momentum and spin they have together, or with what can't be moved if that is
//!    among them. Things of a rigid zone keep their distances, so they don't meet; what they meet next joins the zone. There is an end to it, at the latest when all is one zone.
//!
//! Velocities change by what positions do, over the step; that of a body to no more than its mean over the step, in the direction of the change.
//!
//! Two things are kept apart by a tenth of the thickness (a hundredth by [blades](super::blade)), or by half of what they had at the beginning. Pairs nearer than a nanometre at the beginning, as the lips of a fresh tear are, may not come nearer along the line between their triangles.
//!
//! Source: Bridson, Fedkiw, Anderson 2002 §§6–7; Provot 1997 (zones). Deviation: impulses stop at the time of contact, not by the velocity of the whole step.

use super::ccd::{self, Query};
use super::field::{self, Field, Pair};
use super::row::LEVER;
use super::{KEPT, Report, TOUCHING, nearest};
use crate::body::{Bodies, Pose};
use crate::cloth::Cloth;
use crate::math::{Mat3, Quat, Vec3, array, mapped, outer, turn, turn_vector};
use crate::parallel;
use crate::sets::Sets;

/// Rounds of impulses before zones are made.
const IMPULSES: u32 = 12;

/// Rounds in all.
const ROUNDS: u32 = 100;

/// Share of the usual gap that is kept from what cuts: less than lips step back from each other.
const KEEN: f64 = 0.1;

/// Buffers, and the state of one run.
#[derive(Default)]
pub struct Resolver {
    hits: Vec<Hit>,
    lists: Vec<Vec<Hit>>,
    /// Points that have been moved in the last round.
    moved: Vec<bool>,
    /// Zone of each thing: nodes first, then bodies.
    zone: Sets,
}

#[derive(Clone, Copy)]
struct Hit {
    pair: Pair,
    time: f64,
    /// Distance at the beginning of the step, rounded down [m].
    apart: f64,
}

/// How a body's end has been changed: shift of its middle [m] and turn [rad].
#[derive(Clone, Copy, Default)]
struct Nudge {
    shift: Vec3,
    turn: Vec3,
    any: bool,
}

impl Resolver {
    pub fn run(
        &mut self,
        field: &mut Field,
        cloth: &mut Cloth,
        bodies: &mut Bodies,
        (thickness, slack, friction): (f64, f64, f64),
        h: f64,
        report: &mut Report,
    ) {
        let gap = KEPT * thickness;
        field.measure();
        self.moved.clear();
        self.moved.resize(field.start.len(), true);
        let first = field.body_points;
        let ends: Vec<(Pose, Vec3)> = (0..bodies.len()).map(|b| (bodies.pose(b), bodies.middle(b))).collect();
        let mut touched = false;
        for round in 0..ROUNDS {
            // What was moved may have come near others; nothing else can meet that didn't before.
            if round > 0 && field.list(2.0 * thickness, slack, Some(&self.moved)) {
                field.measure();
            }
            self.look(field, gap);
            if self.hits.is_empty() {
                break;
            }
            if !touched {
                touched = true;
                self.zone = Sets::new(cloth.x.len() + bodies.len());
            }
            report.stopped += self.hits.len() as u32;
            self.moved.fill(false);
            if round < IMPULSES {
                self.push(field, cloth, bodies, friction, gap);
            } else {
                report.frozen = self.freeze(field, cloth, bodies);
            }
            if round + 1 == ROUNDS {
                report.failed = self.hits.len() as u32;
            }
        }
        if !touched {
            return;
        }
        for (i, (x, v)) in cloth.x.iter_mut().zip(cloth.v.iter_mut()).enumerate() {
            let now = field.now[first + i];
            if now != *x {
                *v += (now - *x) / h;
                *x = now;
            }
        }
        for (b, (end, middle)) in ends.into_iter().enumerate() {
            if end == bodies.pose(b) {
                continue;
            }
            let turned = turn_vector(bodies.pose(b).turn * end.turn.conjugate());
            let (velocity, spin) = (bodies.velocity(b), bodies.spin(b));
            let by = (bodies.middle(b) - middle) / h;
            // Another body may have stopped it at the end of its way: sent back on that way it is not to go on backwards.
            let (along, pose) = (by.normalize_or_zero(), bodies.pose(b));
            let mean = (bodies.middle(b) - bodies.pose_before(b).apply(pose.local(bodies.middle(b)))) / h;
            let most = velocity.dot(along).max(mean.dot(along));
            let over = ((velocity + by).dot(along) - most).max(0.0);
            bodies.set_velocity(b, velocity + by - along * over, spin + turned / h);
        }
    }

    /// All pairs that hit each other, of those that have moved.
    fn look(&mut self, field: &Field, gap: f64) {
        let size = 4096;
        self.lists.resize_with(field.pairs.len().div_ceil(size), Vec::new);
        let (moved, apart) = (&self.moved, &field.apart);
        parallel::for_each_chunk(&mut self.lists, 1, |k, list| {
            let list = &mut list[0];
            list.clear();
            for (&pair, &apart) in field.pairs.iter().zip(apart).skip(k * size).take(size) {
                let corners = field.corners(pair);
                // What meets a ball at a node does so with its triangles.
                let at_node = matches!(pair, Pair::BallNode(..));
                if at_node || !corners.iter().any(|&p| moved[p as usize]) || field.is_gripped(corners) {
                    continue;
                }
                // Lips pass close by the blade that has parted them.
                let honed = !field.honed(corners).is_empty();
                let gap = if honed { KEEN * gap } else { gap };
                let mut met = meet(field, pair, corners, f64::from(apart), gap);
                if honed {
                    met = met.and_then(|time| pass(field, pair, corners, gap, time));
                }
                if let Some(time) = met {
                    list.push(Hit { pair, time, apart: f64::from(apart) });
                }
            }
        });
        self.hits.clear();
        self.lists.iter().for_each(|list| self.hits.extend_from_slice(list));
        self.hits.sort_unstable_by_key(|hit| hit.pair);
        self.take_in_time(field);
    }

    /// Of what meets a blade, leaves what comes first to each node: what comes later may be from inside it, and is looked at again.
    fn take_in_time(&mut self, field: &Field) {
        if field.sharp.is_empty() {
            return;
        }
        let mut met: Vec<Hit> =
            self.hits.extract_if(.., |hit| !field.honed(field.corners(hit.pair)).is_empty()).collect();
        met.sort_by(|a, b| a.time.total_cmp(&b.time).then(a.pair.cmp(&b.pair)));
        let mut taken: Vec<u32> = Vec::new();
        for hit in met {
            let nodes = field.corners(hit.pair).into_iter().filter(|&p| !field.is_body(p));
            if !nodes.clone().any(|p| taken.contains(&p)) {
                taken.extend(nodes);
                self.hits.push(hit);
            }
        }
    }

    /// One round of impulses.
    fn push(&mut self, field: &mut Field, cloth: &Cloth, bodies: &mut Bodies, friction: f64, gap: f64) {
        let first = field.body_points;
        let mut nudges = vec![Nudge::default(); bodies.len()];
        let inertia: Vec<(f64, Mat3)> = (0..bodies.len()).map(|b| bodies.inertia(b)).collect();
        let fixed = |p: u32| match (p as usize).checked_sub(first) {
            Some(node) => cloth.inverse_mass.as_ref()[node] == 0.0,
            None => inertia[field.body_of[p as usize] as usize].0 == 0.0,
        };
        for hit in &self.hits {
            let corners = field.corners(hit.pair);
            let start = mapped(corners, |p| field.start[p as usize]);
            let end = mapped(corners, |p| {
                let x = field.now[p as usize];
                if (p as usize) < first {
                    let b = field.body_of[p as usize] as usize;
                    x + nudges[b].shift + nudges[b].turn.cross(x - bodies.middle(b))
                } else {
                    x
                }
            });
            let at: [Vec3; 4] = array(|k| start[k] + (end[k] - start[k]) * hit.time);
            let (weights, apart) = nearest(hit.pair, at);
            let beside = if hit.time == 0.0 { side(field, hit.pair, corners) } else { None };
            let honed = !field.honed(corners).is_empty();
            let moving = |p: u32| field.start[p as usize].lerp(field.now[p as usize], hit.time);
            let nearer = if honed { field.nearer(corners, weights, apart.length(), moving) } else { None };
            let Some(normal) = beside.or_else(|| nearer.unwrap_or(apart).try_normalize()) else { continue };
            let gone: Vec3 = (0..4).map(|k| (end[k] - start[k]) * weights[k]).sum();
            let along = normal.dot(gone);
            if along >= 0.0 {
                continue;
            }
            // How the pair gives way: nodes, and a body at the place of contact.
            let (mut ease, mut body, mut farthest) = (0.0, None, 0.0f64);
            let (mut sign, mut place) = (0.0, Vec3::ZERO);
            for k in 0..4 {
                let p = corners[k] as usize;
                if p < first {
                    body = Some(field.body_of[p] as usize);
                    sign += weights[k];
                    place += end[k] * weights[k];
                } else {
                    let lightness = cloth.inverse_mass.as_ref()[p - first];
                    ease += weights[k] * weights[k] * lightness;
                    farthest = farthest.max(weights[k].abs() * lightness);
                }
            }
            let sign = if sign > 0.0 { 1.0 } else { -1.0 };
            let arm = body.map_or(Vec3::ZERO, |b| place * sign - bodies.middle(b) - normal * field.radius(hit.pair));
            if let Some(b) = body {
                let (lightness, turns) = inertia[b];
                ease += lightness + (turns * arm.cross(normal)).cross(arm).dot(normal);
            }
            // What would be thrown aside is left to a zone, for which it is looked at again. Where two grips meet there is none that would be right, so they pass.
            if ease <= 0.0 || farthest > LEVER * ease {
                if ease > 0.0 && !honed && keep_distances(mapped(corners, fixed), start, end) {
                    corners.iter().for_each(|&p| self.moved[p as usize] = true);
                }
                continue;
            }
            // What is already nearer than what is kept comes no nearer: a share of ever less would soon be nothing.
            let lost = if !honed && hit.apart < gap { 1.0 } else { 1.0 - hit.time };
            // What slides along a blade would meet it at the end of every round again.
            let aside = if honed { KEEN * gap } else { 0.0 };
            let push = (aside - along * lost) / ease;
            let slip = (gone - normal * along) * lost;
            let limit = body.and_then(|b| bodies.get(b)?.friction).unwrap_or(friction) * push;
            let rub = slip.length() / ease;
            let drag = if rub > 0.0 { slip / ease * (limit / rub).min(1.0) } else { Vec3::ZERO };
            let impulse = normal * push - drag;
            for k in 0..4 {
                let p = corners[k] as usize;
                if p >= first {
                    let by = weights[k] * cloth.inverse_mass.as_ref()[p - first];
                    if by != 0.0 {
                        field.now[p] += impulse * by;
                        self.moved[p] = true;
                    }
                }
            }
            if let Some(b) = body {
                let (lightness, turns) = inertia[b];
                if lightness > 0.0 {
                    let nudge = &mut nudges[b];
                    nudge.shift += impulse * (sign * lightness);
                    nudge.turn += turns * arm.cross(impulse * sign);
                    nudge.any = true;
                }
            }
        }
        self.nudge(field, bodies, &nudges);
    }

    /// Moves the ends of bodies, and all their points.
    fn nudge(&mut self, field: &mut Field, bodies: &mut Bodies, nudges: &[Nudge]) {
        for (b, nudge) in nudges.iter().enumerate().filter(|(_, nudge)| nudge.any) {
            let (pose, middle) = (bodies.pose(b), bodies.middle(b));
            let by = turn(nudge.turn);
            let place = middle + nudge.shift + by * (pose.place - middle);
            bodies.set_pose(b, Pose { place, turn: (by * pose.turn).normalize() });
            let pose = bodies.pose(b);
            let Some(points) = field.body_of.iter().position(|&of| of as usize == b) else { continue };
            let radius = field.round[b];
            for (k, &local) in bodies.get(b).into_iter().flat_map(|body| field::points(body, radius)).enumerate() {
                field.now[points + k] = pose.apply(local);
                self.moved[points + k] = true;
            }
        }
    }

    /// One round of zones; returns how many nodes are in one.
    fn freeze(&mut self, field: &mut Field, cloth: &Cloth, bodies: &mut Bodies) -> u32 {
        let (first, nodes) = (field.body_points, cloth.x.len() as u32);
        let thing = |p: u32| {
            if (p as usize) < first { nodes + field.body_of[p as usize] } else { p - first as u32 }
        };
        let hits = std::mem::take(&mut self.hits);
        for hit in &hits {
            let things = field.corners(hit.pair).map(thing);
            for &t in &things[1..] {
                self.zone.join(things[0], t);
            }
        }
        let mut again = vec![false; self.zone.len()];
        for hit in &hits {
            again[self.zone.root(thing(field.corners(hit.pair)[0])) as usize] = true;
        }
        self.hits = hits;
        // Members in order, by zone.
        let mut members: Vec<(u32, u32)> = Vec::new();
        for i in 0..self.zone.len() as u32 {
            let root = self.zone.root(i);
            if again[root as usize] {
                members.push((root, i));
            }
        }
        members.sort_unstable();
        let mut nudges = vec![Nudge::default(); bodies.len()];
        let mut frozen = 0;
        for zone in members.chunk_by(|a, b| a.0 == b.0) {
            let motion = motion(zone, field, cloth, bodies);
            for &(_, i) in zone {
                if i < nodes {
                    let p = first + i as usize;
                    field.now[p] = motion.apply(field.start[p]);
                    self.moved[p] = true;
                    frozen += 1;
                } else {
                    let b = (i - nodes) as usize;
                    if bodies.inertia(b).0 > 0.0 {
                        let before = bodies.pose_before(b);
                        let pose =
                            Pose { place: motion.apply(before.place), turn: (motion.turn * before.turn).normalize() };
                        bodies.set_pose(b, pose);
                        nudges[b].any = true;
                    }
                }
            }
        }
        self.nudge(field, bodies, &nudges);
        frozen
    }
}

/// When a pair comes too near, if it does.
pub fn meet(field: &Field, pair: Pair, corners: [u32; 4], apart: f64, gap: f64) -> Option<f64> {
    let from = mapped(corners, |p| field.start[p as usize]);
    let to = mapped(corners, |p| field.now[p as usize]);
    let radius = field.radius(pair);
    if radius > 0.0 {
        return meet_ball(pair, from, to, radius, apart, gap);
    }
    if apart < TOUCHING {
        // No distance that could be kept: only nearer they must not come.
        let (weights, _) = nearest(pair, from);
        let nearer = -(0..4).map(|k| (to[k] - from[k]) * weights[k]).sum::<Vec3>().dot(field.beside(pair)?);
        return (nearer > TOUCHING).then_some(0.0);
    }
    meet_on_way(pair, from, to, apart, gap)
}

/// When the corners of a pair that is `apart` [m] at the beginning come nearer than `gap` [m], or than half of what they were, on their straight ways.
pub fn meet_on_way(pair: Pair, from: [Vec3; 4], to: [Vec3; 4], apart: f64, gap: f64) -> Option<f64> {
    let gone: [Vec3; 4] = array(|k| to[k] - from[k]);
    let mean = (gone[0] + gone[1] + gone[2] + gone[3]) * 0.25;
    let far = mapped(gone, |u| (u - mean).length());
    let gap = gap.min(0.5 * apart);
    let nearer = match pair {
        Pair::PointFace(..) | Pair::BallNode(..) => far[0] + far[1].max(far[2]).max(far[3]),
        Pair::EdgeEdge(..) => far[0].max(far[1]) + far[2].max(far[3]),
    };
    if apart - nearer > gap {
        return None;
    }
    // The query's gap is a box around a ball of this size.
    let query = Query { gap: gap / 3f64.sqrt(), tolerance: (0.1 * gap).max(1e-8) };
    match pair {
        Pair::PointFace(..) | Pair::BallNode(..) => ccd::point_triangle(&from, &to, query),
        Pair::EdgeEdge(..) => ccd::edge_edge(&from, &to, query),
    }
}

/// When a triangle or a node (corners 1 to 3) that is `apart` [m] from a ball about corner 0 at the beginning comes nearer than `gap` [m], or than half of what it was.
///
/// As [`ccd`] marches: along the direction between the nearest points all corners move at their own paces, and nothing meets before the first of them has come near in that direction. What gets no farther counts
/// as met, so the time may be early, never late.
fn meet_ball(pair: Pair, from: [Vec3; 4], to: [Vec3; 4], radius: f64, apart: f64, gap: f64) -> Option<f64> {
    let gone: [Vec3; 4] = array(|k| to[k] - from[k]);
    let gap = gap.min(0.5 * apart);
    let fastest = (1..4).map(|k| (gone[0] - gone[k]).length()).fold(0.0, f64::max);
    if apart - fastest > gap {
        return None;
    }
    let mut time = 0.0;
    for _ in 0..BALL_STEPS {
        let (weights, between) = nearest(pair, array(|k| from[k] + gone[k] * time));
        let distance = between.length();
        if distance <= radius + 1.1 * gap {
            // What is inside already is pushed out by its row; here it must not go deeper.
            let outwards = (0..4).map(|k| gone[k] * weights[k]).sum::<Vec3>().dot(between);
            return (time > 0.0 || outwards < -TOUCHING * distance).then_some(time);
        }
        let n = between / distance;
        let mut next = f64::INFINITY;
        for k in 1..4 {
            let (begin, by) = (n.dot(from[0] - from[k]), n.dot(gone[0] - gone[k]));
            if by < 0.0 {
                next = next.min((radius + gap - begin) / by);
            }
        }
        if next >= 1.0 {
            return None;
        }
        if next <= time {
            return Some(time);
        }
        time = next;
    }
    Some(time)
}

/// Steps after which what is about to meet a ball counts as met.
const BALL_STEPS: u32 = 32;

/// When a pair of a blade that comes near at `time` really meets, if cloth only slides by then.
fn pass(field: &Field, pair: Pair, corners: [u32; 4], gap: f64, mut time: f64) -> Option<f64> {
    let at = |time: f64| mapped(corners, |p| field.start[p as usize].lerp(field.now[p as usize], time));
    while slides_by(field, pair, corners, time) {
        let begin = time + PASS;
        if begin >= 1.0 {
            return None;
        }
        let (from, to) = (at(begin), at(1.0));
        let gap = gap.min(0.5 * nearest(pair, from).1.length());
        let query = Query { gap: gap / 3f64.sqrt(), tolerance: (0.1 * gap).max(1e-8) };
        let next = match pair {
            Pair::PointFace(..) | Pair::BallNode(..) => ccd::point_triangle(&from, &to, query),
            Pair::EdgeEdge(..) => ccd::edge_edge(&from, &to, query),
        };
        time = begin + (1.0 - begin) * next?;
    }
    Some(time)
}

/// Share of the step after which it is asked again whether cloth that slides by a blade meets it.
const PASS: f64 = 0.01;

/// True if cloth that comes near a place of a blade will not reach what of the blade is nearest to it then.
fn slides_by(field: &Field, pair: Pair, corners: [u32; 4], time: f64) -> bool {
    let at = |p: u32| field.start[p as usize].lerp(field.now[p as usize], time);
    let (weights, apart) = nearest(pair, mapped(corners, at));
    let Some(apart) = field.nearer(corners, weights, apart.length(), at) else { return false };
    let gone: Vec3 =
        (0..4).map(|k| (field.now[corners[k] as usize] - field.start[corners[k] as usize]) * weights[k]).sum();
    gone.dot(apart) * (1.0 - time) > -0.5 * apart.length_squared()
}

/// True if corners of a pair that can't be pushed are as far from each other at the end as at the beginning: one thing holds them.
fn keep_distances(fixed: [bool; 4], start: [Vec3; 4], end: [Vec3; 4]) -> bool {
    let keep = |(j, k): (usize, usize)| (start[j].distance(start[k]) - end[j].distance(end[k])).abs() < TOUCHING;
    (0..4).flat_map(|j| (0..j).map(move |k| (j, k))).all(|(j, k)| !(fixed[j] && fixed[k]) || keep((j, k)))
}

/// Which way two things lie apart that touch at the beginning of the step.
fn side(field: &Field, pair: Pair, corners: [u32; 4]) -> Option<Vec3> {
    let (_, apart) = nearest(pair, mapped(corners, |p| field.start[p as usize]));
    if apart.length() < TOUCHING { field.beside(pair) } else { None }
}

/// A rigid motion from the beginning of the step: x ← turn·(x − from) + to.
struct Motion {
    turn: Quat,
    from: Vec3,
    to: Vec3,
}

impl Motion {
    fn apply(&self, x: Vec3) -> Vec3 {
        self.turn * (x - self.from) + self.to
    }
}

/// The rigid motion of a zone that keeps its momentum and spin, or follows what can't be moved.
fn motion(zone: &[(u32, u32)], field: &Field, cloth: &Cloth, bodies: &Bodies) -> Motion {
    let (first, nodes) = (field.body_points, cloth.x.len() as u32);
    let mut held: Option<(Vec3, f64)> = None;
    let (mut mass, mut middle, mut gone) = (0.0, Vec3::ZERO, Vec3::ZERO);
    for &(_, i) in zone {
        if i >= nodes {
            let b = (i - nodes) as usize;
            let (before, now) = (bodies.pose_before(b), bodies.pose(b));
            let lightness = bodies.inertia(b).0;
            if lightness == 0.0 {
                return Motion { turn: now.turn * before.turn.conjugate(), from: before.place, to: now.place };
            }
            let (m, was) = (1.0 / lightness, before.apply(now.local(bodies.middle(b))));
            mass += m;
            middle += was * m;
            gone += (bodies.middle(b) - was) * m;
            continue;
        }
        let p = first + i as usize;
        let by = field.now[p] - field.start[p];
        if cloth.inverse_mass.as_ref()[i as usize] == 0.0 {
            let (sum, count) = held.unwrap_or_default();
            held = Some((sum + by, count + 1.0));
        }
        let m = cloth.mass.as_ref()[i as usize];
        mass += m;
        middle += field.start[p] * m;
        gone += by * m;
    }
    if let Some((sum, count)) = held {
        return Motion { turn: Quat::IDENTITY, from: Vec3::ZERO, to: sum / count };
    }
    let (middle, gone) = (middle / mass, gone / mass);
    let (mut inertia, mut spin) = (Mat3::ZERO, Vec3::ZERO);
    let mut add = |m: f64, arm: Vec3, by: Vec3| {
        inertia += (Mat3::IDENTITY * arm.length_squared() - outer(arm, arm)) * m;
        spin += arm.cross(by) * m;
    };
    let mut own = (Mat3::ZERO, Vec3::ZERO);
    for &(_, i) in zone {
        if i >= nodes {
            let b = (i - nodes) as usize;
            let (before, now) = (bodies.pose_before(b), bodies.pose(b));
            let (lightness, ease) = bodies.inertia(b);
            let was = before.apply(now.local(bodies.middle(b)));
            add(1.0 / lightness, was - middle, bodies.middle(b) - was - gone);
            let turned = turn_vector(now.turn * before.turn.conjugate());
            let tensor = ease.inverse();
            own.0 += tensor;
            own.1 += tensor * turned;
        } else {
            let p = first + i as usize;
            let by = field.now[p] - field.start[p];
            add(cloth.mass.as_ref()[i as usize], field.start[p] - middle, by - gone);
        }
    }
    let (inertia, spin) = (inertia + own.0, spin + own.1);
    // Points on a line have no inertia about it, and no spin.
    let size = (inertia.x_axis.x + inertia.y_axis.y + inertia.z_axis.z) * 1e-9;
    let turned = (inertia + Mat3::IDENTITY * size.max(f64::MIN_POSITIVE)).inverse() * spin;
    let turned = if turned.is_finite() { turned } else { Vec3::ZERO };
    Motion { turn: turn(turned), from: middle, to: middle + gone }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::math::{Vec2, hash_unit};
    use ripstop_mesh::{Mesh, NodeId};

    /// What becomes of an edge that turns by 0.5 m at its end, about the other end, which is held, and which a hand moves by `hand` [m]; a tenth of its length from there another edge is in its way, which
    /// is held a tenth of its length off. How far above that it ends [m], and what was said of it.
    fn turned_into_another(hand: Vec3) -> (f64, Report) {
        let from = [
            Vec3::ZERO,
            Vec3::X,
            Vec3::new(0.5, 0.0, -1.0),
            Vec3::new(0.1, 0.02, -0.1),
            Vec3::new(0.1, 0.02, 0.9),
            Vec3::new(-1.0, 0.5, 0.4),
        ];
        let faces = [[0, 1, 2], [3, 4, 5]];
        let uv = faces.map(|face| face.map(|n| Vec2::new(from[n as usize].x, -from[n as usize].z)));
        let mut cloth = Cloth::flat(Mesh::from_faces(6, &faces, &uv).unwrap(), 0.2, Placement::default());
        cloth.x.as_mut().copy_from_slice(&from);
        [0, 3].into_iter().for_each(|n| cloth.hold(NodeId(n), Some(0)));
        (cloth.x[NodeId(3)], cloth.x[NodeId(4)]) = (from[3] + hand, from[4] - Vec3::Y * 0.5);
        let (mut field, mut bodies, mut report) = (Field::default(), Bodies::default(), Report::default());
        field.link(&cloth, &bodies, true);
        field.hold(&cloth.inverse_mass);
        let (thickness, h) = (1e-3, 0.01);
        Field::place(&mut field.start, &[], &from, &bodies, true);
        field.foresee(&[Vec3::ZERO; 6], |_, _| Vec3::ZERO, h);
        Field::place(&mut field.now, &[], &cloth.x, &bodies, false);
        field.list(2.0 * thickness, thickness, None);
        let sizes = (thickness, thickness, 0.0);
        Resolver::default().run(&mut field, &mut cloth, &mut bodies, sizes, h, &mut report);
        let x = |n: u32| cloth.x[NodeId(n)];
        (x(3).lerp(x(4), 0.1).y - x(0).lerp(x(1), 0.1).y, report)
    }

    #[test]
    fn what_a_push_would_throw_aside_is_stopped_by_a_zone_but_where_two_grips_meet() {
        let (above, report) = turned_into_another(Vec3::ZERO);
        assert!(above > 0.0 && report.frozen == 4 && report.failed == 0, "{above} m, {report:?}");
        let (_, report) = turned_into_another(-0.005 * Vec3::Y);
        assert!(report.stopped > 0 && report.frozen == 0 && report.failed == 0, "it was met, and passes: {report:?}");
    }

    #[test]
    fn what_meets_a_ball_is_stopped_before_it_does_and_not_long_before() {
        let (radius, gap) = (0.1, 1e-4);
        let (mut met, mut missed) = (0, 0);
        for key in 0..4000u64 {
            let noise = |k: u64| 2.0 * hash_unit(k, key) - 1.0;
            let vector = |k: u64| Vec3::new(noise(3 * k), noise(3 * k + 1), noise(3 * k + 2));
            let middle = vector(0) * 0.25;
            let mut from =
                [Vec3::ZERO, middle + vector(1) * 0.03, middle + vector(2) * 0.03, middle + vector(3) * 0.03];
            let drift = vector(4) * 0.2;
            let mut to: [Vec3; 4] =
                std::array::from_fn(|k| from[k] + drift * f64::from(k > 0) + vector(5 + k as u64) * 0.02);
            let pair = if key % 4 == 0 { Pair::BallNode(0, 1) } else { Pair::PointFace(0, 0) };
            if key % 4 == 0 {
                (from[2], from[3], to[2], to[3]) = (from[1], from[1], to[1], to[1]);
            }
            let apart =
                |time: f64| nearest(pair, std::array::from_fn(|k| from[k].lerp(to[k], time))).1.length() - radius;
            if apart(0.0) < 2.0 * gap {
                continue;
            }
            let found = meet_ball(pair, from, to, radius, apart(0.0), gap);
            let samples = 2000;
            let first = (0..=samples).map(|k| f64::from(k) / f64::from(samples)).find(|&time| apart(time) <= gap);
            match (found, first) {
                (Some(time), Some(first)) => {
                    assert!(time <= first + 1e-12, "{key}: at {time}, but it meets at {first}");
                    assert!(apart(time) < 2.0 * gap, "{key}: {} m away at {time}", apart(time));
                    met += 1;
                }
                (None, Some(first)) => panic!("{key}: meets at {first}"),
                // Samples may miss what grazes.
                (Some(time), None) => assert!(apart(time) < 2.0 * gap, "{key}: {} m away at {time}", apart(time)),
                (None, None) => missed += 1,
            }
        }
        assert!(met > 200 && missed > 200, "{met} met, {missed} didn't");
    }
}
