//! What the position-based integrators share: positions as shifts from the beginning of the step, and the tables of elements
//! that are projected.
//!
//! The methods are [`Xpbd`] and [`Pbd`]; the projection itself stands in `potential/project.rs`. A step:
//! 1. loads are evaluated, shifts set to zero;
//! 2. each substep: velocities take the loads, nodes move by their velocity, elements are projected, and what projection moved
//!    goes into the velocities;
//! 3. positions and velocities are written back in double precision.
//!
//! Nodes have places and elements are divided and coloured in `domain.rs`, the same way for all kinds. Plain springs are projected in `springs.rs`; of the
//! others, rows of one colour are copied into blocks that their potential projects as vector code. Triangles of a membrane with one matrix C are projected in `triangles.rs`, hinges with one stiffness each in `hinges.rs`.

mod balance;
mod domain;
mod hinges;
mod levels;
mod pbd;
mod springs;
mod triangles;
mod windows;
mod xpbd;

pub use pbd::{Pbd, PbdSettings};
pub use xpbd::{Xpbd, XpbdSettings};

use crate::cloth::Cloth;
use crate::contact::Contacts;
use crate::contact::row::Shifted;
use crate::lanes::{self, Work};
use crate::math::Vec3;
use crate::parallel;
use crate::potential::{Batch, Forces, Place, Plain, Potential, Shift, narrow, widen};
use domain::{Parts, Places, WINDOW};
use hinges::Hinges;
use springs::Springs;
use triangles::Triangles;

/// Rows of contact stay as they are for a whole step, while projections move what they are between: by this time [s] cloth and bodies at rest on each other have
/// hardly moved. At 1/60 s a ball on a sheet is thrown off.
const CONTACT_STEP: f64 = 1.0 / 240.0;

/// Highest angular frequency of what is projected once for several substeps, over one by their time. With 4 legs of trousers, whose bending is projected once in a step then, are thrown about and tear at once; with
/// 2 loads are as with every substep. 1.5 is below that, and the least for which the sheet of `ripstop-bench torn` bends in every eighth substep instead of every fourth: a choice for that sheet.
const RESOLVED: f64 = 1.5;

/// Positions and velocities during a step, in single precision, by [place](Places). A shift of 5 cm is exact to 4 nm, so a velocity found from a
/// substep of 1 ms is to 4 µm/s.
#[derive(Default)]
struct Shifts {
    /// From the beginning of the step until now [m].
    now: Vec<Shift>,
    /// The same at the beginning of the substep.
    before: Vec<Shift>,
    /// Velocities [m/s].
    speed: Vec<Shift>,
    /// What loads add to velocities in each substep [m/s].
    kick: Vec<Shift>,
    /// Where places were when the step began [m].
    start: Vec<Vec3>,
    /// One over their mass [1/kg], zero where there is no node.
    inverse_mass: Vec<f64>,
    /// Length of a substep [s].
    h: f64,
}

/// Moves some nodes by their velocity. Unless this is the `FIRST` substep, velocities take up what projection moved before.
struct Predict<'a, const FIRST: bool> {
    now: &'a mut [Shift],
    before: &'a mut [Shift],
    speed: &'a mut [Shift],
    kick: &'a [Shift],
    h: f32,
    per_h: f32,
}

impl<const FIRST: bool> Work for Predict<'_, FIRST> {
    #[inline(always)]
    fn run(self) {
        let (now, before) = (self.now.as_flattened_mut(), self.before.as_flattened_mut());
        let (speed, kick) = (self.speed.as_flattened_mut(), self.kick.as_flattened());
        let (h, per_h) = (self.h, self.per_h);
        for (((now, before), speed), kick) in now.iter_mut().zip(before).zip(speed).zip(kick) {
            let mut v = *speed;
            if !FIRST {
                v = caught_up(*now, *before, v, h, per_h);
            }
            *before = *now;
            v += kick;
            *now += h * v;
            *speed = v;
        }
    }
}

/// A velocity that takes up what projection moved. Where it moved nothing every bit is kept.
#[inline(always)]
fn caught_up(now: f32, before: f32, speed: f32, h: f32, per_h: f32) -> f32 {
    speed + (now - (before + h * speed)) * per_h
}

impl Shifts {
    /// Begins a step of substeps of `h` [s] under `load` [N].
    fn begin(&mut self, cloth: &Cloth, places: &Places, load: &[Vec3], h: f64) {
        let Self { now, before, speed, kick, start, inverse_mass, .. } = self;
        self.h = h;
        for table in [&mut *now, before, speed, kick] {
            table.resize(places.len(), [0.0; 4]);
        }
        start.resize(places.len(), Vec3::ZERO);
        inverse_mass.resize(places.len(), 0.0);
        let (x, v, w): (&[Vec3], &[Vec3], &[f64]) = (&cloth.x, &cloth.v, &cloth.inverse_mass);
        let node = |place: usize| Some(places.node[place] as usize).filter(|&n| n < x.len());
        parallel::for_each_triple(now, speed, kick, |first, now, speed, kick| {
            now.fill([0.0; 4]);
            for (k, (speed, kick)) in speed.iter_mut().zip(kick).enumerate() {
                (*speed, *kick) = match node(first + k) {
                    Some(n) => (narrow(v[n]), narrow(load[n] * (w[n] * h))),
                    None => ([0.0; 4], [0.0; 4]),
                };
            }
        });
        parallel::for_each_pair(start, inverse_mass, |place, start, inverse_mass| {
            (*start, *inverse_mass) = node(place).map_or((Vec3::ZERO, 0.0), |n| (x[n], w[n]));
        });
    }

    /// Moves all nodes by their velocity: begins a substep, and ends the one before unless this is the `first`.
    fn predict(&mut self, first: bool) {
        let (h, per_h, kick) = (self.h as f32, (1.0 / self.h) as f32, &self.kick);
        parallel::for_each_triple(&mut self.now, &mut self.before, &mut self.speed, |from, now, before, speed| {
            let kick = &kick[from..from + now.len()];
            if first {
                lanes::run(Predict::<true> { now, before, speed, kick, h, per_h });
            } else {
                lanes::run(Predict::<false> { now, before, speed, kick, h, per_h });
            }
        });
    }

    /// Has nodes meet what they touch, at the end of a substep; `first` in the first one of a step.
    fn meet(&mut self, contacts: &mut Contacts, places: &Places, inverse_mass: &[f64], first: bool) {
        let now = Shifted { shift: &mut self.now, places: &places.of };
        contacts.project(now, &self.before, inverse_mass, self.h, first);
    }

    /// Ends the last substep.
    fn settle(&mut self) {
        let (h, per_h, now, before) = (self.h as f32, (1.0 / self.h) as f32, &self.now, &self.before);
        parallel::for_each(&mut self.speed, |i, speed| {
            for k in 0..4 {
                speed[k] = caught_up(now[i][k], before[i][k], speed[k], h, per_h);
            }
        });
    }

    /// Writes the step of `h` [s] back. Held nodes go by their own velocity, exactly.
    fn end(&self, cloth: &mut Cloth, places: &Places, h: f64) {
        let (now, speed, w): (_, _, &[f64]) = (&self.now, &self.speed, &cloth.inverse_mass);
        parallel::for_each_pair(&mut cloth.x, &mut cloth.v, |i, x, v| {
            if w[i] == 0.0 {
                *x += *v * h;
            } else {
                let place = places.of[i] as usize;
                *x += widen(now[place]);
                *v = widen(speed[place]);
            }
        });
    }
}

/// The rows of a potential that has no better way, by parts.
#[derive(Default)]
struct General {
    parts: Parts<Batch>,
}

impl General {
    /// All rows of a potential.
    fn new(potential: &dyn Potential, places: &Places) -> Self {
        let (mut rows, mut nodes, mut each) = (Vec::new(), Vec::new(), 1);
        potential.visit_rows(&mut |row, of| {
            rows.push(row);
            nodes.extend(of.iter().map(|&n| places.of[n]));
            each = of.len();
        });
        let parts = domain::divide(places.len(), nodes.chunks_exact(each)).map(|first, part| {
            let of = |&k: &u32| nodes[each * k as usize..][..each].iter().map(|n| n - first as u32);
            let in_window: Vec<u32> = part.iter().flat_map(of).collect();
            let (mut batch, mut some) = (Batch::default(), Vec::new());
            domain::colour(each, &in_window, |colour, group| {
                some.clear();
                some.extend(group.iter().map(|&k| rows[part[k as usize] as usize]));
                // Rows of the last colour may share nodes: each is a block.
                some.chunks(if colour == domain::CROWDED { 1 } else { rows.len() })
                    .for_each(|rows| potential.copy_rows(rows, &mut batch));
            });
            batch.place(&places.of);
            batch
        });
        Self { parts }
    }

    fn forget(&mut self) {
        let Parts { inside, between, far } = &mut self.parts;
        inside.iter_mut().chain(between).chain([far]).for_each(Batch::forget);
    }

    fn sweep(&mut self, potential: &dyn Potential, shifts: &mut Shifts, span: f64) {
        let (start, inverse_mass, before, h): (&[Vec3], &[f64], &[Shift], f64) =
            (&shifts.start, &shifts.inverse_mass, &shifts.before, shifts.h);
        let project = |first: usize, shift: &mut [Shift], batch: &mut Batch| {
            potential.project(batch, &mut Place { start, inverse_mass, before, first, shift, h, span });
        };
        let Parts { inside, between, far } = &mut self.parts;
        parallel::for_each_domain(&mut shifts.now, WINDOW, inside, project);
        let last = shifts.now.len() - WINDOW / 2;
        let half = &mut shifts.now[WINDOW / 2..last];
        parallel::for_each_domain(half, WINDOW, between, |first, shift, batch| {
            project(WINDOW / 2 + first, shift, batch);
        });
        project(0, &mut shifts.now, far);
    }
}

/// How a potential is projected.
enum Table {
    /// In single precision.
    Springs(Springs),
    /// Likewise.
    Triangles(Triangles),
    /// Likewise.
    Hinges(Hinges),
    /// By its potential, block by block.
    General(General),
    /// Not at all: it is a load.
    Load,
}

/// One table for each potential.
#[derive(Default)]
struct Tables {
    tables: Vec<Table>,
    /// Which version of each potential its table is of.
    versions: Vec<Option<u64>>,
    /// Highest angular frequency of each, squared, in the middle of all nodes and of those that it acts on [1/s²].
    paces: Vec<[f64; 2]>,
    /// Substeps that each projection of each stands for.
    every: Vec<u32>,
    /// Where nodes are kept.
    places: Places,
}

/// Highest angular frequency of a potential, squared: in the middle of all nodes, and of those that it acts on [1/s²]. In the middle, since bonds are few, and single ones are stiffer than anything else.
fn paces(potential: &dyn Potential, cloth: &Cloth) -> [f64; 2] {
    if !potential.is_stiff() {
        return [0.0; 2];
    }
    let (mut stiffness, mut damping) = (vec![0.0; cloth.x.len()], vec![0.0; cloth.x.len()]);
    potential.add_bounds(cloth, &mut stiffness, &mut damping);
    // What weighs nothing is retired.
    let there = stiffness.iter().zip(&*cloth.mass).filter(|(_, m)| **m > 0.0);
    let mut paces: Vec<f64> = there.map(|(k, m)| k / m).collect();
    let of_all = middle(&mut paces);
    paces.retain(|&pace| pace > 0.0);
    [of_all, middle(&mut paces)]
}

/// The number in the middle of some; zero if there is none.
fn middle(all: &mut [f64]) -> f64 {
    match all.len() / 2 {
        _ if all.is_empty() => 0.0,
        at => *all.select_nth_unstable_by(at, f64::total_cmp).1,
    }
}

impl Tables {
    /// Follows changes of the cloth; true if there were any.
    fn link(&mut self, cloth: &Cloth, forces: &Forces) -> bool {
        let more = cloth.x.len() != self.places.of.len();
        if more {
            self.places = Places::new(cloth);
        }
        let version_of = |k: usize| Some(forces.potentials[k].version());
        let all = forces.potentials.len();
        if self.tables.len() != all {
            self.tables = (0..all).map(|_| Table::Load).collect();
            self.versions = vec![None; all];
            self.paces = vec![[0.0; 2]; all];
        }
        let stale: Vec<usize> = (0..all).filter(|&k| self.versions[k] != version_of(k)).collect();
        // Each with its own table.
        let mut renewed: Vec<(usize, Table, [f64; 2])> =
            stale.iter().map(|&k| (k, std::mem::replace(&mut self.tables[k], Table::Load), [0.0; 2])).collect();
        let places = &self.places;
        parallel::for_each_chunk(&mut renewed, 1, |_, one| {
            let (k, table, pace) = &mut one[0];
            let potential = &*forces.potentials[*k];
            table.renew(potential, places);
            *pace = paces(potential, cloth);
        });
        for (k, table, pace) in renewed {
            (self.tables[k], self.versions[k], self.paces[k]) = (table, version_of(k), pace);
        }
        !stale.is_empty() || more
    }

    /// Begins a step of so many substeps, with `shifts` that have begun. What is softer than the stiffest has slower waves, and is projected as much less often, as far as these are still followed.
    fn begin(&mut self, shifts: &Shifts, substeps: u32) {
        let Shifts { start, inverse_mass, h, .. } = shifts;
        let h = *h;
        self.every.clear();
        let stiffest = self.paces.iter().map(|paces| paces[0]).fold(0.0, f64::max);
        for (table, &[_, pace]) in self.tables.iter_mut().zip(&self.paces) {
            let slower = if pace > 0.0 { (stiffest / pace).sqrt().min(RESOLVED / (pace.sqrt() * h)) } else { 1.0 };
            let every = (1..=substeps)
                .rev()
                .find(|&k| substeps.is_multiple_of(k) && f64::from(k) <= slower.max(1.0))
                .unwrap_or(1);
            match table {
                Table::Springs(springs) => {
                    springs.begin(start, inverse_mass, h);
                    self.every.push(1);
                }
                Table::Triangles(triangles) => {
                    triangles.begin(start, inverse_mass, h, h * f64::from(every));
                    self.every.push(every);
                }
                Table::Hinges(hinges) => {
                    hinges.begin(start, inverse_mass, h, h * f64::from(every));
                    self.every.push(every);
                }
                Table::General(_) | Table::Load => self.every.push(every),
            }
        }
    }

    /// Forgets λ at the beginning of a substep. Springs need theirs only for more than one iteration.
    fn forget(&mut self, again: bool) {
        for table in &mut self.tables {
            match table {
                Table::Springs(springs) if again => springs.forget(),
                Table::Triangles(triangles) if again => triangles.forget(),
                Table::Hinges(hinges) if again => hinges.forget(),
                Table::General(general) => general.forget(),
                Table::Springs(_) | Table::Triangles(_) | Table::Hinges(_) | Table::Load => {}
            }
        }
    }

    /// Projects all that aren't springs and whose turn it is in this substep, the last first: models name the stiffest first. `again` if this is one of several iterations.
    fn sweep_general(&mut self, forces: &Forces, shifts: &mut Shifts, substep: u32, again: bool) {
        let turns = self.tables.iter_mut().zip(&self.every).zip(&forces.potentials);
        for ((table, &every), potential) in turns.rev().filter(|((_, every), _)| (substep + 1).is_multiple_of(**every))
        {
            match table {
                Table::General(general) => general.sweep(&**potential, shifts, shifts.h * f64::from(every)),
                Table::Triangles(triangles) => triangles.sweep(&mut shifts.now, &shifts.before, again),
                Table::Hinges(hinges) => hinges.sweep(&mut shifts.now, &shifts.before, again),
                Table::Springs(_) | Table::Load => {}
            }
        }
    }

    /// Projects all springs once. `again` if this is one of several iterations.
    fn sweep_springs(&mut self, shifts: &mut Shifts, again: bool) {
        for table in &mut self.tables {
            if let Table::Springs(springs) = table {
                springs.sweep(&mut shifts.now, &shifts.before, again);
            }
        }
    }
}

impl Table {
    /// Becomes that of a potential as it is now; what has not changed stays as it is.
    fn renew(&mut self, potential: &dyn Potential, places: &Places) {
        if !potential.is_stiff() {
            *self = Self::Load;
            return;
        }
        let was = std::mem::replace(self, Self::Load);
        *self = match potential.plain() {
            Some(Plain::Hinges(hinges)) => {
                let mut table = if let Self::Hinges(was) = was { was } else { Hinges::default() };
                table.renew(&hinges, places);
                Self::Hinges(table)
            }
            Some(Plain::Triangles(triangles, elasticity)) => {
                let mut table = if let Self::Triangles(was) = was { was } else { Triangles::default() };
                table.renew(&triangles, elasticity, potential.lag(), places);
                Self::Triangles(table)
            }
            Some(Plain::Springs(springs)) => {
                let mut table = if let Self::Springs(was) = was { was } else { Springs::new(1.0, potential.lag()) };
                table.renew(&springs, places);
                Self::Springs(table)
            }
            None => Self::General(General::new(potential, places)),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::{Placement, Touched};
    use crate::fabric::Fabric;
    use crate::integrator::{Integrator, Motion};
    use crate::model;
    use crate::potential::{Bond, Elasticity, ElementSet, Hold};
    use ripstop_mesh::{NodeId, Vec2, generate};

    /// A membrane, some of whose nodes are held together by bonds as stiff as `force` [N] over a fiftieth of their length.
    fn bonded(force: f64) -> (Cloth, Forces) {
        let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [31, 31]).unwrap(), 0.2, Placement::default());
        for n in 0..8 {
            cloth.bonds.add(Bond::new(NodeId(100 * n + 1), NodeId(100 * n), force, (1.0, 0.03)));
        }
        let fabric = Fabric { density: 0.2, bend: 1e-5, ..Fabric::SOFT };
        let elasticity = Elasticity { weft: 2000.0, across: 40.0, warp: 2000.0, shear: 60.0 };
        let mut potentials = model::membrane(&fabric, elasticity, &cloth);
        potentials.push(Box::new(ElementSet::new(Hold, &cloth)));
        (cloth, Forces::new(potentials))
    }

    #[test]
    fn a_few_stiff_bonds_leave_the_cloth_its_pace() {
        // Softer than the membrane, stiffer, and far stiffer.
        for force in [0.01, 20.0, 300.0] {
            let (cloth, forces) = bonded(force);
            let mut tables = Tables::default();
            tables.link(&cloth, &forces);
            let (mut shifts, load) = (Shifts::default(), vec![Vec3::ZERO; cloth.x.len()]);
            shifts.begin(&cloth, &tables.places, &load, 1e-4);
            tables.begin(&shifts, 16);
            let every = |name: &str| {
                let at = forces.potentials.iter().position(|potential| potential.name() == name);
                at.map(|at| tables.every[at])
            };
            assert_eq!(every("membrane"), Some(1), "{force} N");
            assert!(every("bend") > Some(1), "{force} N");
            assert_eq!(every("bonds") > Some(1), force < 1.0, "{force} N");
        }
    }

    #[test]
    fn what_wears_is_followed() {
        let (mut cloth, mut forces) = bonded(2.0);
        let settings = XpbdSettings { substeps: 4, ..XpbdSettings::default() };
        let mut old = Xpbd::new(settings);
        for round in 0..4 {
            let mut copy = cloth.clone();
            old.advance(Motion::new(&mut cloth, &mut forces), 1e-3);
            Xpbd::new(settings).advance(Motion::new(&mut copy, &mut forces), 1e-3);
            assert_eq!(cloth.x, copy.x, "round {round}");
            // Bonds hold nodes an edge apart or more, so new ones wear.
            let (nodes, topology) = cloth.wear_bonds();
            assert!(!nodes.is_empty(), "round {round}");
            forces.follow(&cloth, &Touched { nodes, topology, ..Touched::default() });
            // Another bond, and cloth that moves.
            let (node, from) = (NodeId(500 + 2 * round), NodeId(400 + 3 * round));
            cloth.bonds.add(Bond::new(node, from, 3.0, (1.0, 0.5)));
            forces.follow(&cloth, &Touched { nodes: vec![node], topology: true, ..Touched::default() });
            cloth.v[NodeId(37)].z += 1.0;
        }
    }
}
