//! The scene file: every table and key there is.
//!
//! Lengths in metres, times in seconds, angles in degrees. `u` and `v` are material coordinates: `u` along the weft,
//! `v` along the warp. Kinds of things are chosen by the name of a table (`[integrator.rk4]`).

use crate::expect::Expect;
use crate::woven::WovenTable;
use ripstop::criterion::{Direction, Form};
use ripstop::fabric::{ElasticityKind, Strength, Toughness};
use ripstop::integrator::{ImplicitSettings, PbdSettings, SemiImplicitSettings, XpbdSettings};
use ripstop::plastic::Plasticity;
use ripstop::potential::{Bending, Elasticity};
use ripstop::tear::{Noise, Policy, Unpick};
use ripstop::{Fabric, Placement, Vec2, Vec3};
use serde::Deserialize;

/// A whole scene.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scene {
    /// One line: what there is to see.
    pub title: String,
    /// Where it comes from: document and figure.
    #[serde(default)]
    pub source: String,
    /// Duration and steps.
    pub time: Time,
    /// The sheet.
    pub cloth: ClothKind,
    /// Where a flat sheet lies at the start.
    #[serde(default)]
    pub place: Placement,
    /// What it is made of.
    #[serde(default)]
    pub fabric: FabricTable,
    /// How its forces are computed.
    #[serde(default)]
    pub model: ModelKind,
    /// How it advances in time.
    #[serde(default)]
    pub integrator: IntegratorKind,
    /// Gravity [m/s²].
    #[serde(default = "earth")]
    pub gravity: Vec3,
    /// Air and wind.
    #[serde(default)]
    pub air: Air,
    /// Holds and grips.
    #[serde(default)]
    pub grip: Vec<GripTable>,
    /// Rigid bodies.
    #[serde(default)]
    pub body: Vec<BodyTable>,
    /// What happens where things touch; with bodies there is contact without it too.
    pub contact: Option<ContactTable>,
    /// How it tears.
    pub tear: Option<Tear>,
    /// Tears by hand.
    #[serde(default)]
    pub hand: Vec<Hand>,
    /// Lines along which it gives way first, or at its time.
    #[serde(default)]
    pub seam: Vec<SeamTable>,
    /// How it yields.
    pub plastic: Option<Plasticity>,
    /// Where it is seen from.
    pub camera: Option<Camera>,
    /// How pictures of it look.
    #[serde(default)]
    pub look: Look,
    /// What must come out.
    #[serde(default)]
    pub expect: Expect,
}

fn earth() -> Vec3 {
    Vec3::new(0.0, -9.81, 0.0)
}

/// `[contact]`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContactTable {
    /// Distance that is kept [m]; the fabric's thickness.
    pub thickness: Option<f64>,
    /// Coefficient of friction; the fabric's.
    pub friction: Option<f64>,
    /// Resistance of thickness, per place of contact [N/m]; the fabric's `stretch`.
    pub stiffness: Option<f64>,
    /// Cloth can't pass through cloth.
    pub on_itself: bool,
}

impl Default for ContactTable {
    fn default() -> Self {
        Self { thickness: None, friction: None, stiffness: None, on_itself: true }
    }
}

/// `[time]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Time {
    /// Length of the run [s].
    pub duration: f64,
    /// Frames per second of the results.
    #[serde(default = "thirty")]
    pub fps: f64,
    /// Length of a step [s]; a whole number of steps makes a frame, so it is shortened to fit.
    pub step: f64,
    /// Nodes that are faster are slowed down to this [m/s].
    pub fastest: Option<f64>,
}

fn thirty() -> f64 {
    30.0
}

/// `[cloth.…]`
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ClothKind {
    /// A regular grid with alternating diagonals.
    Grid {
        /// Extent along u and v [m].
        size: Vec2,
        /// Nodes along u and v.
        nodes: [usize; 2],
    },
    /// An irregular mesh.
    Irregular {
        /// Extent along u and v [m].
        size: Vec2,
        /// Distance of nodes [m].
        spacing: f64,
        /// Other seeds give other meshes.
        #[serde(default)]
        seed: u64,
    },
    /// A mesh from a file.
    Obj {
        /// The file, relative to the scene.
        file: String,
        /// Metres per unit of the file's positions.
        #[serde(default = "one")]
        scale: f64,
        /// Where material coordinates come from.
        #[serde(default)]
        uv: UvSource,
    },
    /// Warps and wefts that cross each other.
    Woven(Box<WovenTable>),
}

fn one() -> f64 {
    1.0
}

/// Where the material coordinates of a mesh file come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UvSource {
    /// The file's texture coordinates, scaled so that the material area equals the area of the shape; made from the flat
    /// shape if the file has none.
    #[default]
    Scaled,
    /// The file's texture coordinates as metres.
    Metres,
    /// The shape itself, which must be flat.
    Flat,
}

/// `[fabric]`: what is left out is that of the named fabric, of the file, or of the default.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FabricTable {
    /// A fabric that is part of the program.
    pub name: Option<String>,
    /// A fabric file, relative to the scene.
    pub file: Option<String>,
    /// Cut crosswise: its warp along u, its weft along v.
    pub turned: bool,
    /// Mass per area [kg/m²].
    pub density: Option<f64>,
    /// Membrane stiffness [N/m].
    pub stretch: Option<f64>,
    /// Resistance to shear [N/m].
    pub shear: Option<f64>,
    /// Bending stiffness [N·m].
    pub bend: Option<f64>,
    /// Damping of stretch [s].
    pub damping: Option<f64>,
    /// Thickness [m].
    pub thickness: Option<f64>,
    /// Coefficient of friction.
    pub friction: Option<f64>,
    /// Force along a sharp edge from which on it cuts [N/m].
    pub cut_resistance: Option<f64>,
    /// How finite elements resist strain.
    pub elasticity: Option<ElasticityKind>,
    /// Bending by direction and curvature.
    pub bending: Option<Bending>,
    /// Load at which it breaks.
    pub strength: Option<Strength>,
    /// Energy that tearing it costs.
    pub toughness: Option<Toughness>,
}

/// `[model.…]`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ModelKind {
    /// Springs on edges, corners and hinges.
    Springs {
        /// Stiffness of springs across the inner edges [N/m].
        #[serde(default)]
        bend_shear: f64,
    },
    /// Finite elements, and bending over hinges. What is left out follows from the fabric.
    Membrane {
        /// Stiffness along the weft [N/m].
        c11: Option<f64>,
        /// Coupling of weft and warp [N/m].
        c12: Option<f64>,
        /// Stiffness along the warp [N/m].
        c22: Option<f64>,
        /// Stiffness of shear [N/m].
        c33: Option<f64>,
    },
}

impl ModelKind {
    /// How a membrane of this fabric resists strain; `None` for other models. Constants given here replace what the
    /// fabric says; those left out then follow from its `stretch` and `shear`.
    pub fn elasticity(&self, fabric: &Fabric) -> Option<ElasticityKind> {
        let Self::Membrane { c11, c12, c22, c33 } = *self else { return None };
        if [c11, c12, c22, c33] == [None; 4] {
            return Some(fabric.law());
        }
        let usual = Elasticity::of(fabric);
        Some(ElasticityKind::Orthotropic {
            c11: c11.unwrap_or(usual.weft),
            c12: c12.unwrap_or(usual.across),
            c22: c22.unwrap_or(usual.warp),
            c33: c33.unwrap_or(usual.shear),
        })
    }
}

impl Default for ModelKind {
    fn default() -> Self {
        Self::Springs { bend_shear: 0.0 }
    }
}

/// `[integrator.…]`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum IntegratorKind {
    /// Explicit Euler.
    Euler {},
    /// Midpoint rule.
    Midpoint {},
    /// Runge-Kutta of order 4.
    Rk4 {},
    /// Elastic forces explicitly, damping implicitly.
    SemiImplicit(SemiImplicitSettings),
    /// Implicit Euler.
    Implicit(ImplicitSettings),
    /// Position-based dynamics with compliance and substeps.
    Xpbd(XpbdSettings),
    /// Position-based dynamics with strain limits.
    Pbd(PbdSettings),
}

impl IntegratorKind {
    /// True if stiff cloth and short edges ask for short steps.
    pub fn is_explicit(&self) -> bool {
        !matches!(self, Self::Implicit(_) | Self::Xpbd(_) | Self::Pbd(_))
    }
}

impl Default for IntegratorKind {
    fn default() -> Self {
        Self::Rk4 {}
    }
}

/// `[air]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Air {
    /// Resistance of faces, linear in speed [kg/(m²·s)].
    pub viscous: f64,
    /// Resistance of faces, quadratic in speed [kg/m³].
    pub pressure: f64,
    /// Drag of nodes [kg/m³].
    pub drag: f64,
    /// Wind.
    pub wind: Wind,
}

impl Default for Air {
    fn default() -> Self {
        Self { viscous: 0.1, pressure: 0.0, drag: 0.0, wind: Wind::default() }
    }
}

/// `[air.wind]`
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Wind {
    /// Velocity over time.
    pub keys: Vec<WindKey>,
    /// From when on it blows otherwise, whatever the keys say.
    pub shifts: Vec<WindKey>,
    /// Gusts.
    pub gust: Option<Gust>,
}

/// One keyframe of the wind.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WindKey {
    /// Time [s].
    pub t: f64,
    /// Velocity [m/s].
    pub velocity: Vec3,
}

/// Gusts of the wind.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gust {
    /// Share of the wind by which it varies.
    pub amount: f64,
    /// From gust to gust in time [s].
    pub period: f64,
    /// From gust to gust along the wind [m].
    pub length: f64,
    /// Other seeds give other gusts.
    #[serde(default)]
    pub seed: u64,
}

/// `[[grip]]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GripTable {
    /// Name in results.
    pub name: String,
    /// Which nodes.
    #[serde(rename = "where")]
    pub place: Where,
    /// When it takes hold [s]; from the start if left out.
    pub from: Option<f64>,
    /// How it moves.
    #[serde(default)]
    pub keys: Vec<GripKey>,
    /// When it lets go [s].
    pub release: Option<f64>,
}

/// Which nodes a grip takes.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Where {
    /// A whole side of the sheet.
    Side(Side),
    /// Two opposite corners of a rectangle on the material [m].
    Box([Vec2; 2]),
    /// The node nearest to a material point [m].
    Near(Vec2),
    /// All nodes of a disc on the material: a fingertip.
    Disc {
        /// Its middle [m].
        at: Vec2,
        /// Its radius [m].
        radius: f64,
    },
    /// Corners of a polygon on the material [m]: all nodes in it.
    Polygon(Vec<Vec2>),
    /// All of the border.
    Border,
    /// Nodes by their numbers when the grip takes hold.
    Numbers(Vec<u32>),
}

impl Where {
    /// The numbers it is given by [m].
    pub fn numbers(&self) -> Vec<[f64; 2]> {
        match self {
            Self::Box(corners) => corners.map(|p| p.to_array()).to_vec(),
            Self::Polygon(corners) => corners.iter().map(|p| p.to_array()).collect(),
            Self::Near(point) => vec![point.to_array()],
            Self::Disc { at, radius } => vec![at.to_array(), [*radius; 2]],
            Self::Side(_) | Self::Border | Self::Numbers(_) => Vec::new(),
        }
    }
}

/// A side of the sheet, by its material coordinates.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Smallest u.
    Left,
    /// Largest u.
    Right,
    /// Smallest v.
    Bottom,
    /// Largest v.
    Top,
}

/// One keyframe of a grip.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GripKey {
    /// Time [s].
    pub t: f64,
    /// Displacement from where it took hold [m].
    #[serde(default, rename = "move")]
    pub shift: Vec3,
    /// Turn about its middle: axis times angle [degrees].
    #[serde(default)]
    pub turn: Vec3,
}

/// `[[body]]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyTable {
    /// Name in results.
    pub name: String,
    /// When it arrives [s]; it is there from the start if left out.
    pub from: Option<f64>,
    /// Its shape.
    pub shape: ShapeKind,
    /// Where its own origin is at the start [m].
    #[serde(default)]
    pub place: Vec3,
    /// How it is turned at the start: axis times angle [degrees].
    #[serde(default)]
    pub turn: Vec3,
    /// How it moves, if it is scripted.
    #[serde(default)]
    pub keys: Vec<GripKey>,
    /// Mass, if it is free [kg].
    pub mass: Option<f64>,
    /// Velocity of its centre of mass at the start, if it is free [m/s].
    #[serde(default)]
    pub velocity: Vec3,
    /// Angular velocity at the start, if it is free [degrees/s].
    #[serde(default)]
    pub spin: Vec3,
    /// Coefficient of friction.
    pub friction: Option<f64>,
    /// Red, green, blue from 0 to 1.
    pub colour: Option<[f32; 3]>,
    /// Nodes tied to it.
    pub holds: Option<Where>,
    /// Which of its edges cut.
    pub sharp: Option<SharpKind>,
}

/// Which edges of a body cut.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SharpKind {
    /// Those with a wedge narrower than this [degrees].
    Below(f64),
    /// Those of a group, object or material of its OBJ file.
    Group(String),
}

/// The shape of a body, about its own origin.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ShapeKind {
    /// A ball.
    Ball {
        /// Radius [m].
        radius: f64,
    },
    /// A box.
    Box {
        /// Length of its sides along x, y, z [m].
        sides: Vec3,
    },
    /// An upright cylinder with round ends.
    Capsule {
        /// Radius [m].
        radius: f64,
        /// From end to end [m].
        height: f64,
    },
    /// An upright cylinder with flat ends.
    Cylinder {
        /// Radius [m].
        radius: f64,
        /// From end to end [m].
        height: f64,
    },
    /// The smallest convex body around points.
    Hull {
        /// Points [m].
        points: Vec<Vec3>,
    },
    /// Triangles from a file.
    Mesh {
        /// The OBJ file, relative to the scene.
        file: String,
        /// Metres per unit of the file's positions.
        #[serde(default = "one")]
        scale: f64,
    },
    /// All that is below its origin.
    Plane,
}

/// `[tear]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tear {
    /// When and where.
    pub criterion: CriterionKind,
    /// What the mesh does; what suits the criterion if left out.
    opening: Option<OpeningKind>,
    /// When within a step; what suits the criterion if left out.
    policy: Option<Policy>,
    /// How much stronger against a pull on the bias, 0 to 1.
    #[serde(default)]
    pub weave: f64,
    /// Relative strength at the tip of a tear.
    #[serde(default = "whole")]
    pub weak: f64,
    /// Openings in a step.
    pub per_step: Option<u32>,
    /// Openings in a second.
    pub per_second: Option<f64>,
    /// Time between two openings at a node [s].
    #[serde(default)]
    pub pause: f64,
    /// Area below which no piece comes off [m²]; what suits the criterion if left out.
    pub smallest_piece: Option<f64>,
    /// Length of edges where it tears [m].
    pub refine: Option<f64>,
    /// Picture of relative strength.
    pub map: Option<Map>,
    /// Stronger cloth around gripped nodes.
    pub hem: Option<Hem>,
    /// Strength that varies from place to place.
    pub noise: Option<Noise>,
    /// Where nothing tears by load.
    #[serde(default)]
    pub untearable: Vec<Untearable>,
}

impl Tear {
    /// What the mesh does.
    pub fn opening(&self) -> OpeningKind {
        self.opening.unwrap_or(match self.criterion {
            CriterionKind::Toughness { .. } => OpeningKind::Through,
            _ => OpeningKind::Snap,
        })
    }

    /// When within a step.
    pub fn policy(&self) -> Policy {
        self.policy.unwrap_or(match self.criterion {
            CriterionKind::Toughness { .. } => Policy::EndOfStep { rounds: 4 },
            _ => Policy::default(),
        })
    }

    /// Area below which no piece comes off [m²], where edges are this long [m].
    pub fn smallest_piece(&self, edge: f64) -> f64 {
        self.smallest_piece.unwrap_or(match self.criterion {
            CriterionKind::Toughness { .. } => CONFETTI * 0.25 * 3f64.sqrt() * edge * edge,
            _ => 0.0,
        })
    }
}

/// Triangles of a piece that looks like cloth, at least.
const CONFETTI: f64 = 10.0;

/// `[[tear.untearable]]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Untearable {
    /// Which nodes.
    #[serde(rename = "where")]
    pub place: Where,
}

fn whole() -> f64 {
    1.0
}

/// `[tear.hem]`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hem {
    /// Distance from gripped nodes at which it ends [m].
    pub width: f64,
    /// Relative strength at gripped nodes.
    pub factor: f64,
}

/// `[tear.criterion.…]`
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum CriterionKind {
    /// Separation tensor of the edges at a node.
    SeparationTensor {
        /// Strain at which cloth tears.
        strength: f64,
        /// Size of the tensor.
        #[serde(default)]
        form: Form,
    },
    /// Strain of single edges.
    EdgeStrain {
        /// Strain at which cloth tears.
        strength: f64,
    },
    /// Stress of faces against strength by direction.
    Directional {
        /// What cloth holds along lines in some directions.
        strengths: Vec<Direction>,
    },
    /// Starts by the fabric's strength, runs on by its toughness.
    Toughness {
        /// What both are multiplied by.
        #[serde(default = "whole")]
        factor: f64,
    },
}

/// `opening = …`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpeningKind {
    /// Along the closest edges.
    Snap,
    /// By the plane across the pull.
    Plane,
    /// On from tips along existing edges.
    Onward,
    /// By splitting edges in the middle, and on from tips along existing edges.
    Halve,
    /// Through triangles, along the line itself.
    Through,
}

/// `[tear.map]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Map {
    /// Picture laid over the sheet: white is full strength.
    pub image: String,
    /// Relative strength where it is black.
    #[serde(default = "weak")]
    pub black: f64,
}

fn weak() -> f64 {
    0.3
}

/// `[[hand]]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hand {
    /// When [s].
    pub t: f64,
    /// Line on the material [m].
    pub path: Vec<Vec2>,
    /// Exactly along the line instead of along the edges beside it.
    #[serde(default)]
    pub cut: bool,
}

/// `[[seam]]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeamTable {
    /// Name in results.
    pub name: String,
    /// Line on the material [m].
    #[serde(default)]
    pub path: Vec<Vec2>,
    /// Group or object of the cloth's OBJ file whose line elements are the seam.
    pub group: Option<String>,
    /// Strength over that of the cloth.
    pub strength: Option<f64>,
    /// When all of it opens [s].
    pub opens_at: Option<f64>,
    /// When it comes undone along its length.
    pub unpick: Option<Unpick>,
}

/// `[camera]`
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Camera {
    /// Where it stands [m].
    pub eye: Vec3,
    /// Where it looks [m].
    pub target: Vec3,
    /// Vertical angle of view [degrees].
    #[serde(default = "lens")]
    pub angle: f64,
}

fn lens() -> f64 {
    35.0
}

/// `[look]`
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Look {
    /// Picture on the cloth, relative to the scene.
    pub texture: Option<String>,
    /// Colour of the cloth if it has no picture, red green blue from 0 to 1; of woven cloth that of its warps.
    pub colour: Option<[f32; 3]>,
    /// Colour of wefts.
    pub weft_colour: Option<[f32; 3]>,
    /// What the colours of pictures show.
    pub colouring: Colouring,
    /// Height of a floor [m].
    pub floor: Option<f64>,
    /// Moments of which stills are made [s]; empty: chosen by what happens.
    pub stills: Vec<f64>,
}

impl Default for Look {
    fn default() -> Self {
        Self {
            texture: None,
            colour: None,
            weft_colour: None,
            colouring: Colouring::Fabric,
            floor: None,
            stills: Vec::new(),
        }
    }
}

/// What the colours of a picture show.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Colouring {
    /// The cloth as it looks.
    #[default]
    Fabric,
    /// A numbered checker by material coordinates.
    Checker,
    /// Strain.
    Strain,
    /// Plastic strain.
    Plastic,
    /// Pieces in different colours.
    Pieces,
    /// The mesh.
    Wire,
    /// Woven cloth: what is whole in one colour, yarns in another.
    Levels,
}
