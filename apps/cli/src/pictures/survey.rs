//! A look through a whole run before any of it is drawn: how far it reaches, how strong colours must be, what is worth a
//! still, which held nodes move as one.
//!
//! *Framing.* The box around every node at every frame, but for the outermost [`STRAY`] of nodes along each axis, so
//! that crumbs don't count, and not beyond the box around the first frame widened by [`ROOM`] of its longest side: a
//! piece that flies away must not shrink the cloth to a dot. The first frame and held nodes are always in. Rigid bodies
//! belong to the box of their frame as far as they are within [`BESIDE`] of the cloth's first box.
//!
//! *Colours.* One range for the whole film, or colours would change their meaning in time: from zero to the largest over
//! the frames of the value that only one node in a hundred exceeds, rounded up.

use super::solids::Solid;
use glam::Vec3;
use ripstop_render::{Bounds, lips};
use ripstop_scene::cache::{CacheReader, Frame, Result};
use std::collections::{BTreeMap, BTreeSet};

/// Room around the first frame, over its longest side.
const ROOM: f32 = 0.25;
/// How far beside the cloth bodies matter, over its longest side.
const BESIDE: f32 = 0.5;
/// Share of nodes at either end of an axis that may be out of sight.
const STRAY: f32 = 0.02;
/// Lengths of a bar that differ by more than this are not of one grip.
const RIGID: f32 = 0.01;

/// One frame as far as the choice of stills needs it.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// Place in the cache.
    pub record: usize,
    /// Number of the frame.
    pub index: u32,
    /// Simulated time [s].
    pub time: f64,
    /// Torn lips.
    pub lip_count: usize,
    /// Largest strain.
    pub strain: f32,
}

/// What was seen.
#[derive(Clone, Debug)]
pub struct Survey {
    /// What the camera should hold [m].
    pub bounds: Bounds,
    /// Diagonal of the box around the first frame [m].
    pub size: f32,
    /// Upper end of the colours of strain.
    pub strain: f32,
    /// Upper end of the colours of plastic strain.
    pub plastic: f32,
    /// Every frame.
    pub moments: Vec<Moment>,
    /// Pairs of held nodes side by side on the border that keep their distance: parts of a bar.
    pub bars: Vec<[u32; 2]>,
    /// Triangles of held nodes that keep their distances: parts of a clamp.
    pub plates: Vec<[u32; 3]>,
    /// Other held nodes.
    pub balls: Vec<u32>,
}

impl Survey {
    /// Looks through all frames, one in memory at a time.
    pub fn of(reader: &mut CacheReader, solids: &[Solid]) -> Result<Self> {
        let mut moments = Vec::new();
        let (mut all, mut held, mut first_bodies) = (Bounds::EMPTY, Bounds::EMPTY, None);
        let (mut strain, mut plastic) = (0f32, 0f32);
        let mut start: Option<(Bounds, Holds)> = None;
        for (record, frame) in reader.frames().enumerate() {
            let frame = frame?;
            let points = || frame.points.iter().map(|&p| Vec3::from(p));
            let box_now = Bounds::of(points());
            let (box_then, holds) = start.get_or_insert_with(|| (box_now, Holds::of(&frame)));
            holds.measure(&frame);
            let beside = widened(*box_then, BESIDE);
            let near = solids.iter().zip(&frame.bodies).map(|(solid, pose)| common(solid.bounds(pose), beside));
            let bodies = near.fold(Bounds::EMPTY, Bounds::union);
            first_bodies.get_or_insert(bodies);
            all = all.union(without_strays(&frame.points)).union(bodies);
            held = held.union(Bounds::of(points().zip(&frame.topology.held).filter(|(_, h)| **h).map(|(p, _)| p)));
            strain = strain.max(nearly_largest(&frame.strain));
            plastic = plastic.max(nearly_largest(&frame.plastic));
            moments.push(Moment {
                record,
                index: frame.index,
                time: frame.time,
                lip_count: frame.topology.torn.as_flattened().iter().filter(|torn| **torn).count(),
                strain: frame.strain.iter().copied().fold(0.0, f32::max),
            });
        }
        let (first, holds) = start.unwrap_or((Bounds::EMPTY, Holds::default()));
        let seen = first.union(first_bodies.unwrap_or(Bounds::EMPTY));
        let within = common(all, widened(seen, ROOM));
        let (bars, plates, balls) = holds.parts();
        Ok(Self {
            bounds: within.union(held).union(seen),
            size: first.diagonal(),
            strain: round_up(strain),
            plastic: round_up(plastic),
            moments,
            bars,
            plates,
            balls,
        })
    }

    /// Frames worth a still. By time if times are given, else by what happens: the first, the last whole one, the first torn
    /// one, half of the tear, one between it and the end if that is far, the last; without tears the first, the most strained,
    /// the middle and the last.
    pub fn stills(&self, times: &[f64]) -> Vec<Moment> {
        let moments = &self.moments;
        let mut chosen: Vec<usize> = if !times.is_empty() {
            let nearest = |time: &f64| {
                let off = |m: &&Moment| (m.time - time).abs();
                moments.iter().min_by(|a, b| off(a).total_cmp(&off(b))).map(|m| m.record)
            };
            times.iter().filter_map(nearest).collect()
        } else if moments.is_empty() {
            Vec::new()
        } else {
            let last = moments.len() - 1;
            match self.tear() {
                Some((torn, half)) => {
                    let far = last - half > moments.len() / 3;
                    let later = if far { half + (last - half) / 3 } else { half };
                    vec![0, torn - 1, torn, half, later, last]
                }
                None => vec![0, self.most_strained(), last / 2, last],
            }
        };
        chosen.sort_unstable();
        chosen.dedup();
        chosen.into_iter().map(|record| moments[record]).collect()
    }

    /// The one frame that shows what a run is about.
    pub fn key(&self) -> Option<Moment> {
        let record = self.tear().map_or_else(|| self.most_strained(), |(_, half)| half);
        self.moments.get(record).copied()
    }

    /// Records of the first frame with a new lip, and of that with half of all lips.
    fn tear(&self) -> Option<(usize, usize)> {
        let before = self.moments.first()?.lip_count;
        let torn = self.moments.iter().position(|m| m.lip_count > before)?;
        let most = self.moments.iter().map(|m| m.lip_count).max()?;
        let half = self.moments.iter().position(|m| 2 * (m.lip_count - before.min(m.lip_count)) >= most - before)?;
        // A tear within one frame: show it a little later, opened.
        let half = if half == torn { torn + (self.moments.len() - 1 - torn) / 3 } else { half };
        Some((torn, half))
    }

    fn most_strained(&self) -> usize {
        self.moments.iter().max_by(|a, b| a.strain.total_cmp(&b.strain)).map_or(0, |m| m.record)
    }
}

/// A box with room around it, a share of its longest side.
fn widened(b: Bounds, share: f32) -> Bounds {
    let room = Vec3::splat(share * (b.max - b.min).max_element());
    Bounds { min: b.min - room, max: b.max + room }
}

/// What two boxes have in common; nothing if they are apart.
fn common(a: Bounds, b: Bounds) -> Bounds {
    let both = Bounds { min: a.min.max(b.min), max: a.max.min(b.max) };
    if both.is_empty() { Bounds::EMPTY } else { both }
}

/// The box around all but the outermost points along each axis.
fn without_strays(points: &[[f32; 3]]) -> Bounds {
    let Some(last) = points.len().checked_sub(1) else { return Bounds::EMPTY };
    let stray = (points.len() as f32 * STRAY) as usize;
    let mut bounds = Bounds::EMPTY;
    for k in 0..3 {
        let mut along: Vec<f32> = points.iter().map(|p| p[k]).collect();
        bounds.min[k] = *along.select_nth_unstable_by(stray, f32::total_cmp).1;
        bounds.max[k] = *along.select_nth_unstable_by(last - stray, f32::total_cmp).1;
    }
    bounds
}

/// The value that one in a hundred exceeds.
fn nearly_largest(values: &[f32]) -> f32 {
    let mut values = values.to_vec();
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let place = last - last / 100;
    *values.select_nth_unstable_by(place, f32::total_cmp).1
}

/// The next of 1, 2, 5 × 10ⁿ; a range for cloth that isn't strained at all.
fn round_up(value: f32) -> f32 {
    let mut step = 1e-3;
    while step < 1e3 {
        if let Some(end) = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0].map(|m| m * step).into_iter().find(|e| *e >= value)
        {
            return end;
        }
        step *= 10.0;
    }
    step
}

/// Held nodes of the first frame, and the distances of those that share a triangle.
#[derive(Default)]
struct Holds {
    held: Vec<u32>,
    /// Pairs on the border.
    border: Vec<[u32; 2]>,
    faces: Vec<[u32; 3]>,
    /// Least and greatest distance so far [m].
    pairs: BTreeMap<[u32; 2], [f32; 2]>,
}

impl Holds {
    fn of(frame: &Frame) -> Self {
        let topology = &frame.topology;
        let is_held = |n: &u32| topology.held[*n as usize];
        let held = (0..topology.node_count() as u32).filter(is_held).collect();
        let side = |face: [u32; 3], k: usize| [face[k], face[(k + 1) % 3]];
        let border = lips::border_edges(&topology.faces).into_iter();
        let border = border.map(|[f, k]| side(topology.faces[f as usize], k as usize));
        let border: Vec<[u32; 2]> = border.filter(|pair| pair.iter().all(is_held)).collect();
        let faces: Vec<[u32; 3]> = topology.faces.iter().copied().filter(|face| face.iter().all(is_held)).collect();
        let sides = faces.iter().flat_map(|&face| [0, 1, 2].map(|k| side(face, k)));
        let pairs = border.iter().copied().chain(sides).map(|pair| (pair, [f32::INFINITY, 0.0])).collect();
        Self { held, border, faces, pairs }
    }

    fn measure(&mut self, frame: &Frame) {
        for ([a, b], [least, most]) in &mut self.pairs {
            let both = [*a, *b].map(|n| frame.topology.held.get(n as usize).copied().unwrap_or(false));
            if both == [true, true] {
                let [a, b] = [*a, *b].map(|n| Vec3::from(frame.points[n as usize]));
                (*least, *most) = (least.min(a.distance(b)), most.max(a.distance(b)));
            }
        }
    }

    /// Bars, plates and balls.
    fn parts(self) -> (Vec<[u32; 2]>, Vec<[u32; 3]>, Vec<u32>) {
        let Self { held, border, faces, pairs } = self;
        let rigid = |pair: [u32; 2]| pairs.get(&pair).is_some_and(|[least, most]| most - least <= RIGID * most);
        let bars: Vec<[u32; 2]> = border.into_iter().filter(|&pair| rigid(pair)).collect();
        let whole = |&[a, b, c]: &[u32; 3]| [[a, b], [b, c], [c, a]].into_iter().all(rigid);
        let plates: Vec<[u32; 3]> = faces.into_iter().filter(whole).collect();
        let covered: BTreeSet<u32> = bars.iter().flatten().chain(plates.iter().flatten()).copied().collect();
        (bars, plates, held.into_iter().filter(|n| !covered.contains(n)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_scene::cache::Topology;
    use std::sync::Arc;

    fn survey(lips: &[usize]) -> Survey {
        let moments = lips.iter().enumerate().map(|(record, &lip_count)| Moment {
            record,
            index: record as u32,
            time: record as f64 * 0.1,
            lip_count,
            strain: if record == 3 { 0.5 } else { 0.1 },
        });
        Survey {
            bounds: Bounds::EMPTY,
            size: 1.0,
            strain: 1.0,
            plastic: 1.0,
            moments: moments.collect(),
            bars: Vec::new(),
            plates: Vec::new(),
            balls: Vec::new(),
        }
    }

    fn records(moments: &[Moment]) -> Vec<usize> {
        moments.iter().map(|m| m.record).collect()
    }

    #[test]
    fn stills_show_the_moments_around_the_tear() {
        let torn = survey(&[0, 0, 0, 0, 2, 4, 10, 14, 20, 20]);
        assert_eq!(records(&torn.stills(&[])), [0, 3, 4, 6, 9]);
        assert_eq!(torn.key().unwrap().record, 6);
        let quick = survey(&[0, 4, 12, 16, 16, 16, 16, 16, 16, 16]);
        assert_eq!(records(&quick.stills(&[])), [0, 1, 2, 4, 9]);
        assert_eq!(records(&survey(&[0; 9]).stills(&[])), [0, 3, 4, 8]);
        assert_eq!(records(&torn.stills(&[0.22, 99.0, 0.2])), [2, 9]);
        assert_eq!(records(&survey(&[0, 6]).stills(&[])), [0, 1]);
        assert!(survey(&[]).stills(&[]).is_empty() && survey(&[]).key().is_none());
    }

    #[test]
    fn held_nodes_are_plates_bars_and_balls() {
        // A square, beside it a triangle that ends in a free node, above it one that ends in a node of another grip, and a bar that hangs from the free one.
        let places = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [2.0, 0.5], [0.5, 2.0], [3.0, 0.0], [3.0, 1.0]];
        let faces = vec![[0, 1, 2], [0, 2, 3], [1, 4, 2], [3, 2, 5], [4, 6, 7]];
        let topology = Arc::new(Topology {
            corner_uv: faces.iter().map(|face: &[u32; 3]| face.map(|n| places[n as usize])).collect(),
            torn: vec![[false; 3]; faces.len()],
            faces,
            parent: (0..8).collect(),
            held: (0..8).map(|n| n != 4).collect(),
        });
        let frame = |index: u32, lift: f32| Frame {
            index,
            time: index.into(),
            points: places.iter().enumerate().map(|(n, &[x, y])| [x, y, if n == 5 { lift } else { 0.0 }]).collect(),
            velocities: vec![[0.0; 3]; 8],
            strain: vec![0.0; 8],
            plastic: vec![0.0; 8],
            topology: topology.clone(),
            bodies: Vec::new(),
            yarns: None,
        };
        let parts = |lift: f32| {
            let mut holds = Holds::of(&frame(0, 0.0));
            (0..2).for_each(|index| holds.measure(&frame(index, index as f32 * lift)));
            holds.parts()
        };
        let (bars, plates, balls) = parts(1.0);
        assert_eq!(bars, [[0, 1], [3, 0], [6, 7]], "sides that other held triangles share aren't on the border");
        assert_eq!((plates, balls), (vec![[0, 1, 2], [0, 2, 3]], vec![5]));
        let (bars, plates, balls) = parts(0.0);
        assert_eq!((bars.len(), plates.len(), balls.len()), (5, 3, 0), "all of one grip");
    }

    #[test]
    fn boxes_that_are_apart_have_nothing_in_common() {
        let unit = Bounds { min: Vec3::ZERO, max: Vec3::ONE };
        let wide = widened(unit, 0.5);
        assert_eq!((wide.min, wide.max), (Vec3::splat(-0.5), Vec3::splat(1.5)));
        assert_eq!(common(wide, unit), unit);
        assert!(common(unit, Bounds { min: Vec3::splat(2.0), max: Vec3::splat(3.0) }).is_empty());
        assert_eq!(unit.union(common(Bounds::EMPTY, unit)), unit);
    }

    #[test]
    fn a_crumb_that_falls_is_out_of_sight() {
        let mut points: Vec<[f32; 3]> = (0..101).map(|i| [i as f32, 0.0, 1.0]).collect();
        points[50] = [50.0, -900.0, 1.0];
        let bounds = without_strays(&points);
        assert_eq!((bounds.min.to_array(), bounds.max.to_array()), ([2.0, 0.0, 1.0], [98.0, 0.0, 1.0]));
        assert!(without_strays(&[]).is_empty());
    }

    #[test]
    fn ends_of_colours_are_round_and_never_zero() {
        for (value, end) in [(0.0, 0.001), (0.17, 0.2), (0.2, 0.2), (0.21, 0.3), (7.0, 8.0)] {
            assert!((round_up(value) - end).abs() < 1e-6 * end, "{value}: {}", round_up(value));
        }
        let mut values = vec![0.1; 300];
        values[7] = 9.0;
        assert_eq!(nearly_largest(&values), 0.1);
        assert_eq!(nearly_largest(&[0.5]), 0.5);
        assert_eq!(nearly_largest(&[]), 0.0);
    }
}
