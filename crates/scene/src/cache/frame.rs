//! What a cache holds: the state of the cloth at one moment, and how it hangs together.

use glam::{Quat, Vec3};
use std::fmt;
use std::sync::Arc;

/// How the cloth hangs together. It is shared by all frames between two changes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Topology {
    /// For every face its three nodes, counter-clockwise seen from the front.
    pub faces: Vec<[u32; 3]>,
    /// For every corner its material coordinates (weft, warp) [m].
    pub corner_uv: Vec<[[f32; 2]; 3]>,
    /// For every corner whether the edge from it to the next corner is a torn lip.
    pub torn: Vec<[bool; 3]>,
    /// For every node the node it came from when that one was split; itself if it was there from the start. For one that was taken away, which is in no face any more, the one that it went into.
    pub parent: Vec<u32>,
    /// For every node whether a hold or a grip has it.
    pub held: Vec<bool>,
}

impl Topology {
    /// Number of nodes.
    pub fn node_count(&self) -> usize {
        self.parent.len()
    }

    /// Number of faces.
    pub fn face_count(&self) -> usize {
        self.faces.len()
    }

    /// Checks that all tables have the right size and every index names a node.
    pub fn check(&self) -> Result<(), FrameFault> {
        let (nodes, faces) = (self.node_count(), self.face_count());
        same_size("held", self.held.len(), nodes)?;
        same_size("corner_uv", self.corner_uv.len(), faces)?;
        same_size("torn", self.torn.len(), faces)?;
        if let Some(face) = self.faces.iter().position(|f| f.iter().any(|&node| node as usize >= nodes)) {
            let node = self.faces[face].into_iter().find(|&node| node as usize >= nodes).unwrap_or(u32::MAX);
            return Err(FrameFault::Index { element: "face", id: face, node, nodes });
        }
        if let Some(id) = self.parent.iter().position(|&parent| parent as usize >= nodes) {
            return Err(FrameFault::Index { element: "the parent of node", id, node: self.parent[id], nodes });
        }
        finite("corner_uv", self.corner_uv.as_flattened().as_flattened(), 6)
    }
}

/// Where a rigid body is. Bodies keep their order in all frames of a run, that of their [`BodySurface`]s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BodyPose {
    /// Place of the body's own origin [m].
    pub position: [f32; 3],
    /// Rotation as a unit quaternion x, y, z, w.
    pub rotation: [f32; 4],
}

/// The triangles around a rigid body, in its own coordinates; the same in all frames of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BodySurface {
    /// Its name.
    pub name: String,
    /// Red, green, blue from 0 to 1, if it has its own.
    pub colour: Option<[f32; 3]>,
    /// Points [m].
    pub points: Vec<[f32; 3]>,
    /// Points of every triangle, counter-clockwise seen from outside.
    pub triangles: Vec<[u32; 3]>,
}

impl BodySurface {
    /// Its points in the world.
    pub fn placed(&self, pose: &BodyPose) -> impl Iterator<Item = [f32; 3]> + '_ {
        let BodyPose { position, rotation: [x, y, z, w] } = *pose;
        let place = Vec3::from(position);
        let turn = Quat::from_xyzw(x, y, z, w);
        self.points.iter().map(move |&p| (turn * Vec3::from(p) + place).to_array())
    }

    /// Checks that triangles name points and every number is finite.
    pub fn check(&self) -> Result<(), FrameFault> {
        let nodes = self.points.len();
        if let Some((id, &node)) =
            self.triangles.iter().enumerate().find_map(|(id, t)| Some((id, t.iter().find(|&&n| n as usize >= nodes)?)))
        {
            return Err(FrameFault::Index { element: "a body's triangle", id, node, nodes });
        }
        finite("colour", &self.colour.unwrap_or_default(), 3)?;
        finite("points of a body", self.points.as_flattened(), 3)
    }
}

/// The yarns of woven cloth, one curve after the other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Yarns {
    /// From yarn to yarn where the cloth is whole [m].
    pub spacing: f32,
    /// Distance of warp and weft where they cross [m].
    pub thickness: f32,
    /// Crossings of a whole warp, and of a whole weft.
    pub crossings: [u32; 2],
    /// The curves: yarns between cuts, warps first.
    pub curves: Vec<Curve>,
    /// Points of all curves [m].
    pub points: Vec<[f32; 3]>,
    /// Their velocities [m/s].
    pub velocities: Vec<[f32; 3]>,
    /// For every point what holds the yarns of its crossing together: 0 whole cloth, 1 connected, 2 a couple that slides, 3 nothing.
    pub loose: Vec<u8>,
    /// For every point whether something holds it.
    pub held: Vec<bool>,
    /// Yarns that have passed through each other since the frame before.
    pub passed: Vec<Passed>,
}

/// Two yarns that have passed through each other.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Passed {
    /// 2 n for warp n, 2 n + 1 for weft n.
    pub yarns: [u32; 2],
    /// Where [m].
    pub place: [f32; 3],
}

/// A yarn between two cuts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Curve {
    /// A warp, else a weft.
    pub warp: bool,
    /// Number of the yarn among those of its kind; stays the same in all frames.
    pub yarn: u32,
    /// Crossing along the yarn that the first point is at.
    pub first: u32,
    /// Points.
    pub count: u32,
}

impl Yarns {
    /// Every curve with the numbers of its points.
    pub fn ranges(&self) -> impl Iterator<Item = (&Curve, std::ops::Range<usize>)> + '_ {
        self.curves.iter().scan(0, |start, curve| {
            let from = *start;
            *start += curve.count as usize;
            Some((curve, from..*start))
        })
    }

    /// Radius that they are drawn with [m]: they all but touch where they lie side by side.
    pub fn radius(&self) -> f32 {
        0.3 * self.spacing
    }

    /// Which ends of a curve are torn.
    pub fn torn(&self, curve: &Curve) -> [bool; 2] {
        let all = self.crossings[usize::from(!curve.warp)];
        [curve.first > 0, curve.first + curve.count < all]
    }

    fn check(&self) -> Result<(), FrameFault> {
        let points = self.curves.iter().map(|curve| curve.count as usize).sum();
        same_size("points of yarns", self.points.len(), points)?;
        same_size("velocities of yarns", self.velocities.len(), points)?;
        same_size("loose", self.loose.len(), points)?;
        same_size("held", self.held.len(), points)?;
        finite("spacing and thickness", &[self.spacing, self.thickness], 1)?;
        finite("points of yarns", self.points.as_flattened(), 3)?;
        finite("velocities of yarns", self.velocities.as_flattened(), 3)
    }
}

/// The state of the cloth at one moment.
#[derive(Debug, Clone, PartialEq)]
pub struct Frame {
    /// The frame's number, the time code of exports. It grows from frame to frame.
    pub index: u32,
    /// Simulated time [s].
    pub time: f64,
    /// Place of every node [m].
    pub points: Vec<[f32; 3]>,
    /// Velocity of every node [m/s].
    pub velocities: Vec<[f32; 3]>,
    /// Strain at every node [1].
    pub strain: Vec<f32>,
    /// Plastic strain at every node [1].
    pub plastic: Vec<f32>,
    /// How the nodes hang together.
    pub topology: Arc<Topology>,
    /// Where the rigid bodies are.
    pub bodies: Vec<BodyPose>,
    /// The yarns, if the cloth is woven; nodes and faces are then its crossings and what is whole between them.
    pub yarns: Option<Yarns>,
}

impl Frame {
    /// Checks that every table has one entry per node and every number is finite. The topology has its own
    /// [`check`](Topology::check).
    pub fn check(&self) -> Result<(), FrameFault> {
        let nodes = self.topology.node_count();
        same_size("points", self.points.len(), nodes)?;
        same_size("velocities", self.velocities.len(), nodes)?;
        same_size("strain", self.strain.len(), nodes)?;
        same_size("plastic", self.plastic.len(), nodes)?;
        if !self.time.is_finite() {
            return Err(FrameFault::NotFinite { table: "time", id: 0 });
        }
        finite("points", self.points.as_flattened(), 3)?;
        finite("velocities", self.velocities.as_flattened(), 3)?;
        finite("strain", &self.strain, 1)?;
        finite("plastic", &self.plastic, 1)?;
        for (id, body) in self.bodies.iter().enumerate() {
            let sound = body.position.iter().chain(&body.rotation).all(|x| x.is_finite());
            if !sound {
                return Err(FrameFault::NotFinite { table: "bodies", id });
            }
        }
        self.yarns.as_ref().map_or(Ok(()), Yarns::check)
    }
}

/// What is wrong with a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameFault {
    /// An element names a node that isn't there.
    Index {
        /// What names it.
        element: &'static str,
        /// Which one.
        id: usize,
        /// The node it names.
        node: u32,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A table has the wrong number of entries.
    Size {
        /// The table.
        table: &'static str,
        /// Entries it has.
        found: usize,
        /// Entries it should have.
        expected: usize,
    },
    /// A number is infinite or not a number.
    NotFinite {
        /// The table.
        table: &'static str,
        /// The element it belongs to.
        id: usize,
    },
    /// The number of the frame isn't larger than that of the frame before.
    Order {
        /// The number of the frame before.
        before: u32,
    },
}

impl fmt::Display for FrameFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FrameFault::Index { element, id, node, nodes } => {
                write!(f, "{element} {id} names node {node}, but there are only {nodes} nodes")
            }
            FrameFault::Size { table, found, expected } => {
                write!(f, "`{table}` has {found} entries instead of {expected}")
            }
            FrameFault::NotFinite { table, id } => write!(f, "`{table}` of element {id} is not finite"),
            FrameFault::Order { before } => write!(f, "comes after frame {before}; frame numbers must grow"),
        }
    }
}

fn same_size(table: &'static str, found: usize, expected: usize) -> Result<(), FrameFault> {
    if found == expected { Ok(()) } else { Err(FrameFault::Size { table, found, expected }) }
}

/// `width` is the number of values per element.
fn finite(table: &'static str, values: &[f32], width: usize) -> Result<(), FrameFault> {
    match values.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(place) => Err(FrameFault::NotFinite { table, id: place / width }),
    }
}
