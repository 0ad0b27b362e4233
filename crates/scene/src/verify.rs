//! Looks through a finished cache for what must not be: cloth that has passed through itself or into a body.
//!
//! In every frame, pairs of faces that [cross](ripstop::contact::crossing), of the cloth with itself and of the cloth with every body, and pieces of cloth
//! that lie inside a closed body without crossing it. Of woven cloth, yarns that have [passed](ripstop::yarn::collide) through each other since the frame before, which the cloth tells as it goes, since from frame to frame yarns go other ways than straight, and points of yarns in closed
//! bodies that don't hold them.
//!
//! A cache has its points in single precision, which moves each by up to 2⁻²⁴ of the largest coordinate L in each direction. So what is no deeper or no wider than
//! 8 · 2⁻²⁴ L, half a micrometre for a cloth within a metre of the origin, counts as touching: two points, three directions, and as much again for the
//! rotation of a body. L is that of the cloth, and for a body the larger of the two.

use crate::cache::{BodyPose, CacheError, CacheReader, Frame, FrameFault, Passed, Topology, Yarns};
use glam::{DQuat, DVec3};
use ripstop::contact::crossing;
use ripstop::parallel;
use ripstop::sets::Sets;
use serde::Serialize;
use std::collections::BTreeMap;

/// Depth that is touching, over the largest coordinate.
const TOUCHING: f64 = 8.0 / (1u32 << 24) as f64;

/// Frames that are looked at together, one per thread.
const TOGETHER: usize = 16;

/// The surface of a body, in its own coordinates.
#[derive(Clone, Debug)]
pub struct Solid {
    name: String,
    points: Vec<DVec3>,
    triangles: Vec<[u32; 3]>,
    closed: bool,
}

impl Solid {
    /// A body by its name, its points [m] and the points of its triangles.
    pub fn new(name: impl Into<String>, points: &[[f32; 3]], triangles: Vec<[u32; 3]>) -> Self {
        // Closed: every edge is there as often in one direction as in the other.
        let mut edges = BTreeMap::<[u32; 2], i32>::new();
        for [a, b] in triangles.iter().flat_map(|[a, b, c]| [[*a, *b], [*b, *c], [*c, *a]]) {
            *edges.entry([a.min(b), a.max(b)]).or_default() += if a < b { 1 } else { -1 };
        }
        let closed = !triangles.is_empty() && edges.values().all(|sum| *sum == 0);
        Self { name: name.into(), points: points.iter().map(|p| vector(*p)).collect(), triangles, closed }
    }

    fn placed(&self, pose: &BodyPose) -> Vec<DVec3> {
        let [x, y, z, w] = pose.rotation.map(f64::from);
        let turn = DQuat::from_xyzw(x, y, z, w).normalize();
        self.points.iter().map(|p| turn * *p + vector(pose.position)).collect()
    }
}

/// What is wrong in one frame.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BadFrame {
    /// The frame's number.
    pub frame: u32,
    /// Simulated time [s].
    pub time: f64,
    /// Pairs of faces of the cloth that cross each other, or of segments of yarns that have passed through each other.
    pub itself: usize,
    /// Bodies that the cloth crosses or is inside of.
    pub bodies: Vec<BadBody>,
    /// The first pair that crosses, of the cloth with itself if there is one.
    pub first: Option<Place>,
}

/// What is wrong with one body.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BadBody {
    /// Its name.
    pub name: String,
    /// Pairs of a face of the cloth and a triangle of the body that cross, or points of yarns in it.
    pub crossings: usize,
    /// Pieces of cloth that are inside of it as a whole; looked for only where nothing crosses it.
    pub inside: usize,
}

/// Where two faces or yarns cross.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Place {
    /// A face of the cloth, and another one or a triangle of the body. Of woven cloth two yarns: twice the number of a warp, or twice that of a weft and one.
    pub faces: [u32; 2],
    /// They are yarns.
    pub yarns: bool,
    /// Name of the body; the cloth itself if there is none.
    pub body: Option<String>,
    /// Middle of the line along which they cross, or where yarns passed [m].
    pub at: [f64; 3],
}

/// What was found in all frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Totals {
    /// Frames looked at.
    pub frames: usize,
    /// Frames in which something is wrong.
    pub bad_frames: usize,
    /// Crossings of the cloth with itself, over all frames.
    pub itself: usize,
    /// Crossings with bodies, over all frames.
    pub bodies: usize,
    /// Pieces inside bodies, over all frames.
    pub inside: usize,
}

/// Looks at every frame of a cache. `bad` is told of those in which something is wrong, in order.
pub fn verify(reader: &mut CacheReader, solids: &[Solid], bad: &mut dyn FnMut(BadFrame)) -> Result<Totals, CacheError> {
    reader.whole()?;
    let path = reader.path().to_path_buf();
    let mut totals = Totals::default();
    let mut frames = reader.frames();
    loop {
        let mut batch = Vec::with_capacity(TOGETHER);
        for frame in frames.by_ref().take(TOGETHER) {
            let frame = frame?;
            // Bodies arrive one after the other.
            if frame.bodies.len() > solids.len() {
                let fault = FrameFault::Size { table: "bodies", found: frame.bodies.len(), expected: solids.len() };
                return Err(CacheError::Frame { path, index: frame.index, fault });
            }
            batch.push((frame, None));
        }
        if batch.is_empty() {
            return Ok(totals);
        }
        parallel::for_each_chunk(&mut batch, 1, |_, rows| {
            for (frame, found) in rows {
                *found = match &frame.yarns {
                    Some(yarns) => look_at_yarns(frame, yarns, solids),
                    None => look(frame, solids),
                };
            }
        });
        totals.frames += batch.len();
        for found in batch.into_iter().filter_map(|(_, found)| found) {
            totals.bad_frames += 1;
            totals.itself += found.itself;
            totals.bodies += found.bodies.iter().map(|b| b.crossings).sum::<usize>();
            totals.inside += found.bodies.iter().map(|b| b.inside).sum::<usize>();
            bad(found);
        }
    }
}

/// Looks at one frame.
fn look(frame: &Frame, solids: &[Solid]) -> Option<BadFrame> {
    let faces = &frame.topology.faces;
    let x: Vec<DVec3> = frame.points.iter().map(|p| vector(*p)).collect();
    let size = largest(&x);
    let pairs = crossing::crossings(&x, faces, TOUCHING * size);
    let at = |pair: [u32; 2]| crossing::crossing_place(&x, faces, pair, TOUCHING * size);
    let place =
        |pair: [u32; 2], at: Option<DVec3>, body| Some(Place { faces: pair, yarns: false, body, at: at?.to_array() });
    let mut first = pairs.first().and_then(|pair| place(*pair, at(*pair), None));
    let mut bodies = Vec::new();
    for (solid, pose) in solids.iter().zip(&frame.bodies) {
        let around = solid.placed(pose);
        let touching = TOUCHING * size.max(largest(&around));
        let pairs = crossing::crossings_between(&x, faces, &around, &solid.triangles, touching);
        let swallowed =
            || pieces(&frame.topology).filter(|n| crossing::inside(&around, &solid.triangles, x[*n])).count();
        let inside = if solid.closed && pairs.is_empty() { swallowed() } else { 0 };
        if let (None, Some([face, triangle])) = (&first, pairs.first().copied()) {
            let [one, two] = [
                faces[face as usize].map(|n| x[n as usize]),
                solid.triangles[triangle as usize].map(|n| around[n as usize]),
            ];
            first = place([face, triangle], crossing::triangles_crossing(one, two, touching), Some(solid.name.clone()));
        }
        if !pairs.is_empty() || inside > 0 {
            bodies.push(BadBody { name: solid.name.clone(), crossings: pairs.len(), inside });
        }
    }
    let wrong = !pairs.is_empty() || !bodies.is_empty();
    wrong.then_some(BadFrame { frame: frame.index, time: frame.time, itself: pairs.len(), bodies, first })
}

/// Looks at one frame of woven cloth.
fn look_at_yarns(frame: &Frame, now: &Yarns, solids: &[Solid]) -> Option<BadFrame> {
    let x: Vec<DVec3> = now.points.iter().map(|p| vector(*p)).collect();
    let place = |p: &Passed| Place { faces: p.yarns, yarns: true, body: None, at: vector(p.place).to_array() };
    let first = now.passed.first().map(place);
    let mut bodies = Vec::new();
    for (solid, pose) in solids.iter().zip(&frame.bodies).filter(|(solid, _)| solid.closed) {
        let around = solid.placed(pose);
        let (low, high) = around.iter().fold((DVec3::MAX, DVec3::MIN), |(a, b), p| (a.min(*p), b.max(*p)));
        let within = |p: &DVec3| p.cmpge(low).all() && p.cmple(high).all();
        let free = x.iter().zip(&now.held).filter(|(p, held)| !**held && within(p));
        let crossings = free.filter(|(p, _)| crossing::inside(&around, &solid.triangles, **p)).count();
        if crossings > 0 {
            bodies.push(BadBody { name: solid.name.clone(), crossings, inside: 0 });
        }
    }
    let wrong = !now.passed.is_empty() || !bodies.is_empty();
    wrong.then_some(BadFrame { frame: frame.index, time: frame.time, itself: now.passed.len(), bodies, first })
}

fn vector(p: [f32; 3]) -> DVec3 {
    DVec3::from(p.map(f64::from))
}

fn largest(x: &[DVec3]) -> f64 {
    x.iter().fold(DVec3::ZERO, |most, x| most.max(x.abs())).max_element()
}

/// One node of every piece of the cloth: the smallest number of those that hang together by faces.
fn pieces(topology: &Topology) -> impl Iterator<Item = usize> {
    let mut sets = Sets::new(topology.node_count());
    let mut used = vec![false; sets.len()];
    for [a, b, c] in &topology.faces {
        sets.join(*a, *b);
        sets.join(*b, *c);
        for node in [a, b, c] {
            used[*node as usize] = true;
        }
    }
    (0..sets.len()).filter(move |n| used[*n] && sets.root(*n as u32) as usize == *n)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::sample::{place, write};
    use std::sync::Arc;

    /// A frame with faces of their own nodes.
    fn frame(index: u32, faces: &[[[f32; 3]; 3]], bodies: Vec<BodyPose>) -> Frame {
        let count = 3 * faces.len();
        let topology = Topology {
            faces: (0..faces.len() as u32).map(|f| [3 * f, 3 * f + 1, 3 * f + 2]).collect(),
            corner_uv: vec![[[0.0; 2]; 3]; faces.len()],
            torn: vec![[false; 3]; faces.len()],
            parent: (0..count as u32).collect(),
            held: vec![false; count],
        };
        Frame {
            index,
            time: f64::from(index) / 24.0,
            points: faces.as_flattened().to_vec(),
            velocities: vec![[0.0; 3]; count],
            strain: vec![0.0; count],
            plastic: vec![0.0; count],
            topology: Arc::new(topology),
            bodies,
            yarns: None,
        }
    }

    /// A frame with a warp along y at x = 0, and a weft along x, which may have passed through it.
    fn woven(index: u32, passed: bool) -> Frame {
        let curve = |warp| crate::cache::Curve { warp, yarn: 3, first: 0, count: 2 };
        let yarns = Yarns {
            spacing: 1.0,
            thickness: 0.1,
            crossings: [2, 2],
            curves: vec![curve(true), curve(false)],
            points: vec![[0.0, -1.0, 0.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.3], [1.0, 0.0, 0.3]],
            velocities: vec![[0.0; 3]; 4],
            loose: vec![0; 4],
            held: vec![false, true, false, false],
            passed: passed.then_some(Passed { yarns: [6, 7], place: [0.0, 0.0, 0.25] }).into_iter().collect(),
        };
        Frame { yarns: Some(yarns), ..frame(index, &[FLAT], vec![at([0.0, 1.0, 0.0])]) }
    }

    #[test]
    fn yarns_that_have_passed_are_told_and_what_a_body_holds_may_be_in_it() {
        let frames: Vec<Frame> = (0..5).map(|i| woven(i, i == 2 || i == 4)).collect();
        let (totals, bad) = found(&frames, &[cube()]).unwrap();
        assert_eq!((totals.itself, totals.bodies), (2, 0));
        assert_eq!(bad.iter().map(|b| b.frame).collect::<Vec<_>>(), [2, 4]);
        let first = bad[0].first.as_ref().unwrap();
        assert!(first.yarns && first.faces == [6, 7] && first.at[2] == 0.25, "{first:?}");
        let mut free = frames[0].clone();
        free.yarns.as_mut().unwrap().held[1] = false;
        let (totals, _) = found(&[free], &[cube()]).unwrap();
        assert_eq!((totals.itself, totals.bodies), (0, 1));
    }

    fn found(frames: &[Frame], solids: &[Solid]) -> Result<(Totals, Vec<BadFrame>), CacheError> {
        let (_folder, path) = place();
        write(&path, frames);
        let mut bad = Vec::new();
        let totals = verify(&mut CacheReader::open(&path)?, solids, &mut |frame| bad.push(frame))?;
        Ok((totals, bad))
    }

    const FLAT: [[f32; 3]; 3] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];

    /// Upright, its lowest corner at this height over the middle of [`FLAT`].
    fn upright(height: f32) -> [[f32; 3]; 3] {
        [[0.25, 0.25, height], [0.25, 0.25, height + 1.0], [0.5, 0.25, height + 1.0]]
    }

    fn cube() -> Solid {
        let points: Vec<[f32; 3]> = (0..8).map(|k| [k & 1, k >> 1 & 1, k >> 2].map(|bit| bit as f32 - 0.5)).collect();
        let quads = [[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]];
        Solid::new("cube", &points, quads.into_iter().flat_map(|[a, b, c, d]| [[a, b, c], [a, c, d]]).collect())
    }

    fn at(position: [f32; 3]) -> BodyPose {
        BodyPose { position, rotation: [0.0, 0.0, 0.0, 1.0] }
    }

    #[test]
    fn a_known_crossing_is_counted_in_its_frame_and_place() {
        let heights = [0.5, -0.2, 0.001, -0.5];
        let frames: Vec<Frame> =
            heights.iter().enumerate().map(|(i, h)| frame(i as u32, &[FLAT, upright(*h)], vec![])).collect();
        let (totals, bad) = found(&frames, &[]).unwrap();
        assert_eq!(totals, Totals { frames: 4, bad_frames: 2, itself: 2, bodies: 0, inside: 0 });
        assert_eq!(bad.iter().map(|b| b.frame).collect::<Vec<_>>(), [1, 3]);
        let first = bad[0].first.as_ref().unwrap();
        assert_eq!((first.faces, &first.body), ([0, 1], &None));
        assert!((first.at[1] - 0.25).abs() < 1e-6 && first.at[2].abs() < 1e-6, "{first:?}");
    }

    #[test]
    fn more_frames_than_are_looked_at_together() {
        let frames: Vec<Frame> =
            (0..40).map(|i| frame(i, &[FLAT, upright(if i % 7 == 0 { -0.1 } else { 0.1 })], vec![])).collect();
        let (totals, bad) = found(&frames, &[]).unwrap();
        assert_eq!((totals.frames, totals.bad_frames), (40, 6));
        assert_eq!(bad.iter().map(|b| b.frame).collect::<Vec<_>>(), [0, 7, 14, 21, 28, 35]);
    }

    #[test]
    fn rounding_of_the_cache_is_no_crossing() {
        // Two units in the last place deep, as rounding leaves them; and deep enough to be wider than it, at a quarter of the depth.
        let far = |z: f32| upright(z).map(|[x, y, z]| [x + 8.0, y, z]);
        let flat = FLAT.map(|[x, y, z]| [x + 8.0, y, z]);
        let (totals, _) = found(&[frame(0, &[flat, far(-1e-6)], vec![])], &[]).unwrap();
        assert_eq!(totals.itself, 0);
        let (totals, _) = found(&[frame(0, &[flat, far(-4e-5)], vec![])], &[]).unwrap();
        assert_eq!(totals.itself, 1);
    }

    #[test]
    fn bodies_are_crossed_or_hold_the_cloth_inside_or_are_left_alone() {
        let frames = [
            frame(0, &[FLAT], vec![at([0.0, 0.0, 3.0])]),
            frame(1, &[FLAT], vec![at([0.0, 0.0, 0.3])]),
            frame(2, &[FLAT.map(|p| p.map(|x| 0.1 * x))], vec![at([0.0, 0.0, 0.3])]),
            // Turned by 45° about z the cube reaches 0.707 along x.
            frame(
                3,
                &[FLAT.map(|[x, y, z]| [x + 0.6, y, z])],
                vec![BodyPose { position: [0.0; 3], rotation: [0.0, 0.0, 0.382_683_43, 0.923_879_5] }],
            ),
            frame(4, &[FLAT.map(|[x, y, z]| [x + 0.6, y, z])], vec![at([0.0; 3])]),
        ];
        let (totals, bad) = found(&frames, &[cube()]).unwrap();
        assert_eq!(bad.iter().map(|b| b.frame).collect::<Vec<_>>(), [1, 2, 3]);
        assert!(bad[0].bodies[0].crossings > 0 && bad[0].bodies[0].inside == 0 && bad[0].itself == 0);
        assert_eq!(bad[0].first.as_ref().unwrap().body.as_deref(), Some("cube"));
        assert_eq!(bad[1].bodies, [BadBody { name: "cube".into(), crossings: 0, inside: 1 }]);
        assert_eq!(bad[1].first, None);
        assert_eq!(totals.inside, 1);
        assert_eq!(totals.bodies, bad[0].bodies[0].crossings + bad[2].bodies[0].crossings);
    }

    #[test]
    fn poses_must_fit_the_bodies_and_files_must_be_whole() {
        let good = [frame(0, &[FLAT], vec![]), frame(1, &[FLAT], vec![])];
        assert!(found(&good, &[cube()]).is_ok(), "a body that hasn't arrived is nowhere");
        let error = found(&[frame(0, &[FLAT], vec![at([0.0; 3])])], &[]).unwrap_err().to_string();
        assert!(error.contains("`bodies` has 1 entries instead of 0"), "{error}");
        let (_folder, path) = place();
        write(&path, &good);
        let bytes = std::fs::read(&path).unwrap();
        let look = || CacheReader::open(&path).and_then(|mut reader| verify(&mut reader, &[], &mut |_| ()));
        std::fs::write(&path, &bytes[..bytes.len() - 1]).unwrap();
        assert!(matches!(look(), Err(CacheError::Truncated { record: 1, .. })));
        // A byte in the first frame, which is not the last.
        let mut flipped = bytes.clone();
        flipped[bytes.len() / 2] ^= 1;
        std::fs::write(&path, flipped).unwrap();
        assert!(matches!(look(), Err(CacheError::Damaged { .. })));
    }

    #[test]
    fn every_piece_has_one_node() {
        let mut topology = (*frame(0, &[FLAT; 4], vec![]).topology).clone();
        // 0 and 2 hang together by one node, and 2 and 3; a node without a face is no piece.
        topology.faces[2][1] = 1;
        topology.faces[3][0] = topology.faces[2][2];
        assert_eq!(pieces(&topology).collect::<Vec<_>>(), [0, 3]);
    }
}
