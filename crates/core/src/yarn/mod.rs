//! Woven cloth at two levels: a sheet where it is whole, yarns where it comes apart, so that torn edges fray.
//!
//! One sentence: crossings of warps and wefts are particles joined by springs; near a tear yarns slide through their crossings with friction, and one that slips out of a crossing
//! goes on with a particle of its own; yarns break one by one.
//!
//! # A step (1/240 s)
//! 1. `drive`: held crossings get the velocity that brings them where they should be ([`hold`]).
//! 2. `find_couples`, `find_pairs`, `find_near_bodies`: normals and neighbours of couples ([`couple`]); yarns that may touch ([`near`], [`fold`], [`collide`]); what may touch
//!    bodies ([`meet`]).
//! 3. Substeps: `predict` (velocities with damping by state, gravity, air), `shear` ([`sheet`]), `press_on`, `solve_lines` (all yarns at once; [`line`], and `cross` for what warps and wefts tell each other), in which yarns flow through
//!    crossings ([`slide`]), or `sweep` (the paper's; [`sweep`]), `hold_couples`, `follow_strays` (what goes elsewhere than was foreseen makes pairs; `stray`), `keep_apart`, `meet_bodies`, `hold_back`: what has passed all the same goes back (`zone`).
//! 4. `velocities`, `take_tensions`; `turn_normals`: the side on which yarns lie on each other at their crossings (`normals`, and `knot` where there is none); `change`: cuts, what comes loose, disconnections ([`change`]),
//!    ends that draw out of their last crossing ([`tail`]).
//!
//! # How to use it
//! ```
//! use ripstop::body::Bodies;
//! use ripstop::cloth::Placement;
//! use ripstop::yarn::{By, Spec, Woven};
//! let mut bodies = Bodies::default();
//! let mut cloth = Woven::new(Spec::muslin(20, 12), Placement::default())?;
//! let top: Vec<usize> = (0..20).map(|i| cloth.crossing(i, 11)).collect();
//! cloth.hold("rail", &top, By::Keys(vec![]), None, &bodies);
//! for _ in 0..8 {
//!     cloth.step(&mut bodies)?;
//! }
//! for run in cloth.runs() {
//!     // run.family, run.yarn, run.points, run.kinds: one line of points of a yarn between cuts.
//!     assert_eq!(run.points.len(), run.kinds.len());
//! }
//! assert!(cloth.take_events().is_empty(), "nothing was torn");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Parameters
//! All in [`Spec`], in SI units; [`Spec::muslin`] frays well, [`Spec::table1`] has the paper's constants and its model without friction.
//! Breaking force over friction per crossing sets how long frays are: 50 long, 10 short, without friction the weave runs out.
//!
//! Substeps h must be small where much pulls: tensions T beyond about 3 m l/h² (mass of a crossing, spacing; with muslin and ten substeps 3.4 mN, where it breaks at 1 mN) leave strains that no spring has. For yarns
//! that are stronger by a factor take substeps by its root. Couples of two particles pass on m l/h² at most.
//!
//! # Same bits everywhere
//! Yarns don't depend on each other, rows write to themselves; what slides, couples, pairs and bodies go one by one, in the order of their numbers. [`Woven`] is the state: everything else is a
//! function of it, so a stopped and resumed run agrees in every bit.
//!
//! Source: Metaaphanon, Bando, Chen and Nishita 2009, "Simulation of Tearing Cloth with Frayed Edges". Deviations are told in each file; the
//! chief ones are friction, one particle where yarns slide, whole yarns at once instead of sweeps, and tension instead of strain.

mod bundle;
pub mod change;
pub mod collide;
pub mod couple;
mod cross;
pub mod fold;
mod hand;
pub mod hold;
mod knot;
pub mod line;
pub mod meet;
pub mod near;
mod normals;
mod pair;
pub mod pass;
mod points;
mod read;
pub mod sheet;
pub mod slide;
mod spec;
mod state;
mod step;
mod stray;
pub mod sweep;
mod tables;
pub mod tail;
mod watch;
pub mod weave;
mod zone;

pub use hold::{By, Hold};
pub use pass::{Overlap, Passing, Strand, inside_bodies, overlaps, passings};
pub use points::Points;
pub use read::{Counts, Run};
pub use spec::{Damping, Sliding, Solver, Spec, SpecError};
pub use state::{Cut, Family, Kind, Springs, Woven};
pub use step::StepError;
pub use sweep::sweeps_needed;
pub use watch::Watch;
pub use weave::{Ripstop, Weave, WeaveError};
