//! What the position-based integrators share: positions as shifts from the beginning of the step, and the tables of elements
//! that are projected.
//!
//! The methods are [`Xpbd`] and [`Pbd`]; the projection itself stands in `potential/project.rs`. A step:
//! 1. loads are evaluated, shifts set to zero;
//! 2. each substep: velocities take the loads, nodes move by their velocity, elements are projected, and what projection moved
//!    goes into the velocities;
//! 3. positions and velocities are written back in double precision.
//!
//! Elements are divided and coloured in `domain.rs`, the same way for all kinds. Plain springs are projected in `springs.rs`; of the
//! others, rows of one colour are copied into blocks that their potential projects as vector code. Triangles of a membrane with one matrix C are projected in `triangles.rs`.

mod balance;
mod domain;
mod levels;
mod pbd;
mod springs;
mod triangles;
mod windows;
mod xpbd;

pub use pbd::{Pbd, PbdSettings};
pub use xpbd::{Xpbd, XpbdSettings};

use crate::cloth::{Cloth, Touched};
use crate::lanes::{self, Work};
use crate::math::Vec3;
use crate::parallel;
use crate::potential::{Batch, Forces, Place, Potential, Shift, narrow, widen};
use domain::{Parts, WINDOW};
use springs::Springs;
use triangles::Triangles;

/// Rows of contact stay as they are for a whole step, while projections move what they are between: by this time [s] cloth and bodies at rest on each other have
/// hardly moved. At 1/60 s a ball on a sheet is thrown off.
const CONTACT_STEP: f64 = 1.0 / 240.0;

/// Positions and velocities during a step, in single precision. A shift of 5 cm is exact to 4 nm, so a velocity found from a
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
    fn begin(&mut self, cloth: &Cloth, load: &[Vec3], h: f64) {
        let count = cloth.x.len();
        self.h = h;
        self.now.clear();
        self.now.resize(domain::padded(count), [0.0; 4]);
        self.before.resize(domain::padded(count), [0.0; 4]);
        self.speed.resize(count, [0.0; 4]);
        self.kick.resize(count, [0.0; 4]);
        let (v, w): (&[Vec3], &[f64]) = (&cloth.v, &cloth.inverse_mass);
        parallel::for_each_pair(&mut self.speed, &mut self.kick, |i, speed, kick| {
            *speed = narrow(v[i]);
            *kick = narrow(load[i] * (w[i] * h));
        });
    }

    /// Moves all nodes by their velocity: begins a substep, and ends the one before unless this is the `first`.
    fn predict(&mut self, first: bool) {
        let (h, per_h, kick) = (self.h as f32, (1.0 / self.h) as f32, &self.kick);
        let count = kick.len();
        let (now, before, speed) = (&mut self.now[..count], &mut self.before[..count], &mut self.speed[..]);
        parallel::for_each_triple(now, before, speed, |from, now, before, speed| {
            let kick = &kick[from..from + now.len()];
            if first {
                lanes::run(Predict::<true> { now, before, speed, kick, h, per_h });
            } else {
                lanes::run(Predict::<false> { now, before, speed, kick, h, per_h });
            }
        });
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
    fn end(&self, cloth: &mut Cloth, h: f64) {
        let (now, speed, w): (_, _, &[f64]) = (&self.now, &self.speed, &cloth.inverse_mass);
        parallel::for_each_pair(&mut cloth.x, &mut cloth.v, |i, x, v| {
            if w[i] == 0.0 {
                *x += *v * h;
            } else {
                *x += widen(now[i]);
                *v = widen(speed[i]);
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
    fn new(potential: &dyn Potential, node_count: usize) -> Self {
        let (mut rows, mut nodes, mut each) = (Vec::new(), Vec::new(), 1);
        potential.visit_rows(&mut |row, of| {
            rows.push(row);
            nodes.extend(of.iter().map(|&n| n as u32));
            each = of.len();
        });
        let mut some = Vec::new();
        let add = |batch: &mut Batch, _, colour, group: &[u32]| {
            some.clear();
            some.extend(group.iter().map(|&row| rows[row as usize]));
            // Rows of the last colour may share nodes: each is a block.
            some.chunks(if colour == domain::CROWDED { 1 } else { rows.len() })
                .for_each(|rows| potential.copy_rows(rows, batch));
        };
        Self { parts: domain::divide(node_count, each, &nodes, add) }
    }

    fn forget(&mut self) {
        let Parts { inside, between, far } = &mut self.parts;
        inside.iter_mut().chain(between).chain([far]).for_each(Batch::forget);
    }

    fn sweep(&mut self, potential: &dyn Potential, cloth: &Cloth, shifts: &mut Shifts, span: f64) {
        let (start, inverse_mass, before, h): (&[Vec3], &[f64], &[Shift], f64) =
            (&cloth.x, &cloth.inverse_mass, &shifts.before, shifts.h);
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
    /// By its potential, block by block.
    General(General),
    /// Not at all: it is a load.
    Load,
}

/// One table for each potential.
#[derive(Default)]
struct Tables {
    tables: Vec<Table>,
    /// Highest angular frequency of each, squared, as a mean over the cloth [1/s²].
    pace: Vec<f64>,
    /// Substeps that each projection of each stands for.
    every: Vec<u32>,
    node_count: usize,
    stale: bool,
}

impl Tables {
    /// Follows changes of the cloth; true if there were any.
    fn link(&mut self, cloth: &Cloth, forces: &Forces) -> bool {
        let count = cloth.x.len();
        if !self.stale && self.node_count == count && self.tables.len() == forces.potentials.len() {
            return false;
        }
        self.tables = forces.potentials.iter().map(|potential| Table::new(&**potential, count)).collect();
        let mass: f64 = cloth.mass.iter().sum();
        let (mut stiffness, mut damping) = (vec![0.0; count], vec![0.0; count]);
        self.pace.clear();
        for potential in &forces.potentials {
            stiffness.fill(0.0);
            potential.add_bounds(cloth, &mut stiffness, &mut damping);
            self.pace.push(stiffness.iter().sum::<f64>() / mass);
        }
        (self.node_count, self.stale) = (count, false);
        true
    }

    fn follow(&mut self, _touched: &Touched) {
        self.stale = true;
    }

    /// Begins a step of so many substeps of `h` [s]. What is softer than the stiffest has slower waves, and is projected as much less often: so many times for each of them.
    fn begin(&mut self, cloth: &Cloth, h: f64, substeps: u32) {
        let stiffest = self.pace.iter().copied().fold(0.0, f64::max);
        self.every.clear();
        for (table, &pace) in self.tables.iter_mut().zip(&self.pace) {
            let slower = if pace > 0.0 { (stiffest / pace).sqrt() } else { 1.0 };
            let every = (1..=substeps)
                .rev()
                .find(|&k| substeps.is_multiple_of(k) && f64::from(k) <= slower.max(1.0))
                .unwrap_or(1);
            match table {
                Table::Springs(springs) => {
                    springs.begin(&cloth.x, &cloth.inverse_mass, h);
                    self.every.push(1);
                }
                Table::Triangles(triangles) => {
                    triangles.begin(&cloth.x, &cloth.inverse_mass, h, h * f64::from(every));
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
                Table::General(general) => general.forget(),
                Table::Springs(_) | Table::Triangles(_) | Table::Load => {}
            }
        }
    }

    /// Projects all that aren't springs and whose turn it is in this substep, the last first: models name the stiffest first. `again` if this is one of several iterations.
    fn sweep_general(&mut self, cloth: &Cloth, forces: &Forces, shifts: &mut Shifts, substep: u32, again: bool) {
        let turns = self.tables.iter_mut().zip(&self.every).zip(&forces.potentials);
        for ((table, &every), potential) in turns.rev().filter(|((_, every), _)| (substep + 1).is_multiple_of(**every))
        {
            match table {
                Table::General(general) => general.sweep(&**potential, cloth, shifts, shifts.h * f64::from(every)),
                Table::Triangles(triangles) => triangles.sweep(&mut shifts.now, &shifts.before, again),
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
    fn new(potential: &dyn Potential, node_count: usize) -> Self {
        if !potential.is_stiff() {
            return Self::Load;
        }
        let (mut springs, mut triangles, mut elasticity, mut others) = (Vec::new(), Vec::new(), None, false);
        potential.visit_rows(&mut |row, nodes| match (potential.spring(row), nodes.len()) {
            (Some(spring), _) => springs.push(spring),
            (None, 3) if !others => match potential.triangle(row) {
                Some((triangle, of)) => {
                    triangles.push(triangle);
                    elasticity = Some(of);
                }
                None => others = true,
            },
            _ => others = true,
        });
        if let Some(elasticity) = elasticity.filter(|_| !others) {
            return Self::Triangles(Triangles::new(&triangles, elasticity, potential.lag(), node_count));
        }
        if others {
            return Self::General(General::new(potential, node_count));
        }
        let mut springs = Springs::new(&springs, node_count);
        springs.lag = potential.lag();
        Self::Springs(springs)
    }
}
