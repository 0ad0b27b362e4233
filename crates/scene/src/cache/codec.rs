//! Values to bytes and back. The payloads, all little-endian:
//!
//! | `TOPO` | type | |
//! |---|---|---|
//! | node count, face count | u32, u32 | |
//! | faces | 3 u32 per face | |
//! | corner uv | 6 f32 per face | |
//! | torn | u8 per face | bit k: the edge from corner k is a torn lip |
//! | parent | u32 per node | |
//! | flags | u8 per node | bit 0: held |
//!
//! | `FRAM` | type | |
//! |---|---|---|
//! | index, time | u32, f64 | |
//! | node count, body count | u32, u32 | |
//! | points, velocities | 3 f32 per node, each | |
//! | strain, plastic | f32 per node, each | |
//! | bodies | 7 f32 per body | position, rotation x y z w |
//!
//! | `YARN` | type | |
//! |---|---|---|
//! | spacing, thickness | f32, f32 | |
//! | crossings of a warp, of a weft | u32, u32 | |
//! | curve count, point count | u32, u32 | |
//! | curves | 4 u32 per curve | 1 for a warp, else 0; number, first crossing, points |
//! | points, velocities | 3 f32 per point, each | |
//! | loose | u8 per point | bits 0 to 6: 0 whole cloth, 1 connected, 2 slides, 3 free; bit 7: held |
//! | passed | 2 u32 and 3 f32 each | to the end: 2 n for warp n and 2 n + 1 for weft n, both; where |
//!
//! | `BODY` | type | |
//! |---|---|---|
//! | body count | u32 | |
//! | of each: bytes of its name, points, triangles | u32, u32, u32 | |
//! | name | UTF-8 | |
//! | colour | u8, 3 f32 | 1 if it has one, else 0; red, green, blue |
//! | points | 3 f32 per point | |
//! | triangles | 3 u32 per triangle | |

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::frame::{BodyPose, BodySurface, Curve, Frame, Passed, Topology, Yarns};
use super::{CacheError, METRES_PER_UNIT, Result, UP_AXIS, VERSION};

const MAGIC: [u8; 8] = *b"ripstop\0";
/// Bytes of the opening before the header.
const OPENING: usize = 20;
/// Bytes of the header before the scene's name.
const HEADER_FIXED: usize = 17;
/// Bytes of a `FRAM` payload before its tables.
pub(super) const FRAME_FIXED: usize = 20;

/// What a cache says about the whole run. Lengths are in metres and Y points up, always.
#[derive(Debug, Clone, PartialEq)]
pub struct CacheHeader {
    /// Name of the scene.
    pub scene: String,
    /// Frames per second of simulated time [1/s].
    pub frames_per_second: f64,
}

impl CacheHeader {
    /// The opening and header of a file.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut header = Vec::new();
        header.extend_from_slice(&self.frames_per_second.to_le_bytes());
        header.extend_from_slice(&METRES_PER_UNIT.to_le_bytes());
        header.push(UP_AXIS as u8);
        header.extend_from_slice(self.scene.as_bytes());
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(header.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
        bytes.append(&mut header);
        bytes
    }

    /// Reads the opening and header; also returns the bytes they take.
    pub(super) fn read(file: &mut impl Read, path: &Path) -> Result<(CacheHeader, u64)> {
        let path = || path.to_path_buf();
        let mut opening = Vec::with_capacity(OPENING);
        file.take(OPENING as u64).read_to_end(&mut opening).map_err(CacheError::io(&path(), "read it"))?;
        if !opening.starts_with(&MAGIC[..opening.len().min(MAGIC.len())]) {
            return Err(CacheError::NotACache { path: path() });
        }
        let mut bytes = Bytes(&opening[opening.len().min(MAGIC.len())..]);
        let found = bytes.u32().ok_or(CacheError::NoHeader { path: path() })?;
        if found > VERSION {
            return Err(CacheError::Newer { path: path(), found, known: VERSION });
        }
        let (Some(length), Some(check)) = (bytes.u32(), bytes.u32()) else {
            return Err(CacheError::NoHeader { path: path() });
        };
        let mut header = Vec::new();
        file.take(u64::from(length)).read_to_end(&mut header).map_err(CacheError::io(&path(), "read it"))?;
        if header.len() < length as usize {
            return Err(CacheError::NoHeader { path: path() });
        }
        if header.len() < HEADER_FIXED || crc32fast::hash(&header) != check {
            return Err(CacheError::NotACache { path: path() });
        }
        let (fixed, name) = header.split_at(HEADER_FIXED);
        let mut bytes = Bytes(fixed);
        let (Some(frames_per_second), Some(metres), Ok(scene)) = (bytes.f64(), bytes.f64(), std::str::from_utf8(name))
        else {
            return Err(CacheError::NotACache { path: path() });
        };
        if metres != METRES_PER_UNIT || bytes.0 != [UP_AXIS as u8] {
            return Err(CacheError::NotACache { path: path() });
        }
        Ok((CacheHeader { scene: scene.to_owned(), frames_per_second }, (OPENING + header.len()) as u64))
    }
}

/// What the start of a `FRAM` payload says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct FrameStart {
    pub index: u32,
    pub time: f64,
    pub node_count: u32,
    pub body_count: u32,
}

impl FrameStart {
    pub fn read(file: &mut impl Read) -> io::Result<FrameStart> {
        let mut fixed = [0; FRAME_FIXED];
        file.read_exact(&mut fixed)?;
        Bytes(&fixed).frame_start().ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

pub(super) fn put_topology(out: &mut Vec<u8>, topology: &Topology) {
    out.extend_from_slice(&(topology.node_count() as u32).to_le_bytes());
    out.extend_from_slice(&(topology.face_count() as u32).to_le_bytes());
    put_u32(out, topology.faces.as_flattened());
    put_f32(out, topology.corner_uv.as_flattened().as_flattened());
    out.extend(topology.torn.iter().map(|t| u8::from(t[0]) | u8::from(t[1]) << 1 | u8::from(t[2]) << 2));
    put_u32(out, &topology.parent);
    out.extend(topology.held.iter().map(|&held| u8::from(held)));
}

/// `None` if the bytes don't add up.
pub(super) fn get_topology(payload: &[u8]) -> Option<Topology> {
    let mut bytes = Bytes(payload);
    let (nodes, faces) = (bytes.u32()? as usize, bytes.u32()? as usize);
    let topology = Topology {
        faces: bytes.array(faces, u32::from_le_bytes)?,
        corner_uv: bytes.array(faces.checked_mul(3)?, f32::from_le_bytes)?.as_chunks().0.to_vec(),
        torn: bytes.take(faces)?.iter().map(|t| [0, 1, 2].map(|k| t >> k & 1 == 1)).collect(),
        parent: bytes.array::<1, u32>(nodes, u32::from_le_bytes)?.into_iter().flatten().collect(),
        held: bytes.take(nodes)?.iter().map(|flags| flags & 1 == 1).collect(),
    };
    bytes.0.is_empty().then_some(topology)
}

pub(super) fn put_frame(out: &mut Vec<u8>, frame: &Frame) {
    out.extend_from_slice(&frame.index.to_le_bytes());
    out.extend_from_slice(&frame.time.to_le_bytes());
    out.extend_from_slice(&(frame.points.len() as u32).to_le_bytes());
    out.extend_from_slice(&(frame.bodies.len() as u32).to_le_bytes());
    put_f32(out, frame.points.as_flattened());
    put_f32(out, frame.velocities.as_flattened());
    put_f32(out, &frame.strain);
    put_f32(out, &frame.plastic);
    for body in &frame.bodies {
        put_f32(out, &body.position);
        put_f32(out, &body.rotation);
    }
}

pub(super) fn put_yarns(out: &mut Vec<u8>, yarns: &Yarns) {
    put_f32(out, &[yarns.spacing, yarns.thickness]);
    put_u32(out, &yarns.crossings);
    put_u32(out, &[yarns.curves.len() as u32, yarns.points.len() as u32]);
    for curve in &yarns.curves {
        put_u32(out, &[u32::from(curve.warp), curve.yarn, curve.first, curve.count]);
    }
    put_f32(out, yarns.points.as_flattened());
    put_f32(out, yarns.velocities.as_flattened());
    out.extend(yarns.loose.iter().zip(&yarns.held).map(|(kind, held)| (kind & 127) | u8::from(*held) << 7));
    for passed in &yarns.passed {
        put_u32(out, &passed.yarns);
        put_f32(out, &passed.place);
    }
}

/// `None` if the bytes don't add up.
pub(super) fn get_yarns(payload: &[u8]) -> Option<Yarns> {
    let mut bytes = Bytes(payload);
    let [[spacing, thickness]] = bytes.array(1, f32::from_le_bytes)?.try_into().ok()?;
    let crossings = [bytes.u32()?, bytes.u32()?];
    let (curves, points) = (bytes.u32()? as usize, bytes.u32()? as usize);
    let curve = |[warp, yarn, first, count]: [u32; 4]| Curve { warp: warp == 1, yarn, first, count };
    let mut yarns = Yarns {
        spacing,
        thickness,
        crossings,
        curves: bytes.array(curves, u32::from_le_bytes)?.into_iter().map(curve).collect(),
        points: bytes.array(points, f32::from_le_bytes)?,
        velocities: bytes.array(points, f32::from_le_bytes)?,
        loose: bytes.take(points)?.to_vec(),
        held: Vec::new(),
        passed: Vec::new(),
    };
    while !bytes.0.is_empty() {
        let yarns_of = [bytes.u32()?, bytes.u32()?];
        let [place] = bytes.array(1, f32::from_le_bytes)?.try_into().ok()?;
        yarns.passed.push(Passed { yarns: yarns_of, place });
    }
    yarns.held = yarns.loose.iter().map(|kind| kind >> 7 == 1).collect();
    yarns.loose.iter_mut().for_each(|kind| *kind &= 127);
    let total: u64 = yarns.curves.iter().map(|curve| u64::from(curve.count)).sum();
    (total == points as u64).then_some(yarns)
}

/// `None` if the bytes don't add up.
pub(super) fn get_frame(payload: &[u8], topology: Arc<Topology>) -> Option<Frame> {
    let mut bytes = Bytes(payload);
    let FrameStart { index, time, node_count, body_count } = bytes.frame_start()?;
    let nodes = node_count as usize;
    let frame = Frame {
        index,
        time,
        points: bytes.array(nodes, f32::from_le_bytes)?,
        velocities: bytes.array(nodes, f32::from_le_bytes)?,
        strain: bytes.array::<1, f32>(nodes, f32::from_le_bytes)?.into_iter().flatten().collect(),
        plastic: bytes.array::<1, f32>(nodes, f32::from_le_bytes)?.into_iter().flatten().collect(),
        topology,
        bodies: bytes
            .array(body_count as usize, f32::from_le_bytes)?
            .into_iter()
            .map(|[px, py, pz, x, y, z, w]| BodyPose { position: [px, py, pz], rotation: [x, y, z, w] })
            .collect(),
        yarns: None,
    };
    bytes.0.is_empty().then_some(frame)
}

pub(super) fn put_bodies(out: &mut Vec<u8>, bodies: &[BodySurface]) {
    put_u32(out, &[bodies.len() as u32]);
    for body in bodies {
        put_u32(out, &[body.name.len() as u32, body.points.len() as u32, body.triangles.len() as u32]);
        out.extend_from_slice(body.name.as_bytes());
        out.push(u8::from(body.colour.is_some()));
        put_f32(out, &body.colour.unwrap_or_default());
        put_f32(out, body.points.as_flattened());
        put_u32(out, body.triangles.as_flattened());
    }
}

/// `None` if the bytes don't add up.
pub(super) fn get_bodies(payload: &[u8]) -> Option<Vec<BodySurface>> {
    let mut bytes = Bytes(payload);
    let mut bodies = Vec::new();
    for _ in 0..bytes.u32()? {
        let [name, points, triangles] = [bytes.u32()?, bytes.u32()?, bytes.u32()?].map(|count| count as usize);
        let name = std::str::from_utf8(bytes.take(name)?).ok()?.to_owned();
        let coloured = bytes.take(1)? == [1];
        let [colour] = bytes.array(1, f32::from_le_bytes)?.try_into().ok()?;
        bodies.push(BodySurface {
            name,
            colour: coloured.then_some(colour),
            points: bytes.array(points, f32::from_le_bytes)?,
            triangles: bytes.array(triangles, u32::from_le_bytes)?,
        });
    }
    (bytes.0.is_empty() && bodies.iter().all(|body| body.check().is_ok())).then_some(bodies)
}

fn put_u32(out: &mut Vec<u8>, values: &[u32]) {
    out.extend(values.iter().flat_map(|x| x.to_le_bytes()));
}

fn put_f32(out: &mut Vec<u8>, values: &[f32]) {
    out.extend(values.iter().flat_map(|x| x.to_le_bytes()));
}

/// Bytes still to be read.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn f64(&mut self) -> Option<f64> {
        Some(f64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    fn frame_start(&mut self) -> Option<FrameStart> {
        let (index, time, node_count, body_count) = (self.u32()?, self.f64()?, self.u32()?, self.u32()?);
        Some(FrameStart { index, time, node_count, body_count })
    }

    /// `count` rows of `N` four-byte values.
    fn array<const N: usize, T>(&mut self, count: usize, from: impl Fn([u8; 4]) -> T + Copy) -> Option<Vec<[T; N]>> {
        let bytes = self.take(count.checked_mul(4 * N)?)?;
        let values = bytes.as_chunks::<4>().0;
        Some(values.as_chunks::<N>().0.iter().map(|row| row.map(from)).collect())
    }
}
