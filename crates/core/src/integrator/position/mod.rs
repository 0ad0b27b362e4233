//! What the position-based integrators share: positions as shifts from the beginning of the step, and the tables of elements
//! that are projected.
//!
//! The methods are [`Xpbd`] and [`Pbd`]; the projection itself stands in `potential/project.rs`. A step:
//! 1. loads are evaluated, shifts set to zero;
//! 2. each substep: velocities take the loads, nodes move by their velocity, elements are projected, and what projection moved
//!    goes into the velocities;
//! 3. positions and velocities are written back in double precision.

mod domain;
mod levels;
mod pbd;
mod springs;
mod xpbd;

pub use pbd::{Pbd, PbdSettings};
pub use xpbd::{Xpbd, XpbdSettings};

use crate::cloth::{Cloth, Touched};
use crate::math::Vec3;
use crate::parallel;
use crate::potential::{Forces, Place, Potential, Shift, narrow, widen};
use springs::Springs;

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

/// Takes what projection moved into a velocity. Where it moved nothing every bit is kept.
#[inline(always)]
fn catch_up(now: &Shift, before: &Shift, speed: &mut Shift, h: f32, per_h: f32) {
    for k in 0..4 {
        speed[k] += (now[k] - (before[k] + h * speed[k])) * per_h;
    }
}

impl Shifts {
    /// Begins a step of substeps of `h` [s] under `load` [N].
    fn begin(&mut self, cloth: &Cloth, load: &[Vec3], h: f64) {
        let count = cloth.x.len();
        self.h = h;
        self.now.clear();
        self.now.resize(count, [0.0; 4]);
        self.before.resize(count, [0.0; 4]);
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
        parallel::for_each_triple(&mut self.now, &mut self.before, &mut self.speed, |i, now, before, speed| {
            if !first {
                catch_up(now, before, speed, h, per_h);
            }
            *before = *now;
            for k in 0..4 {
                speed[k] += kick[i][k];
                now[k] += h * speed[k];
            }
        });
    }

    /// Ends the last substep.
    fn settle(&mut self) {
        let (h, per_h, now, before) = (self.h as f32, (1.0 / self.h) as f32, &self.now, &self.before);
        parallel::for_each(&mut self.speed, |i, speed| catch_up(&now[i], &before[i], speed, h, per_h));
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

/// The rows of a potential that has no better way, by domain, with their λ.
#[derive(Default)]
struct General {
    domain: usize,
    domains: Vec<(Vec<u32>, Vec<f64>)>,
    crossing: (Vec<u32>, Vec<f64>),
}

impl General {
    fn new(potential: &dyn Potential, node_count: usize) -> Self {
        let domain = domain::size(node_count);
        let (mut domains, mut crossing) = (vec![Vec::new(); node_count.div_ceil(domain)], Vec::new());
        potential.visit_rows(&mut |row, nodes| match domain::of(nodes, domain) {
            Some(d) => domains[d].push(row),
            None => crossing.push(row),
        });
        let with_lambda = |rows: Vec<u32>| {
            let count = rows.len();
            (rows, vec![0.0; count])
        };
        Self { domain, domains: domains.into_iter().map(with_lambda).collect(), crossing: with_lambda(crossing) }
    }

    fn forget(&mut self) {
        self.domains.iter_mut().chain([&mut self.crossing]).for_each(|(_, lambda)| lambda.fill(0.0));
    }

    fn sweep(&mut self, potential: &dyn Potential, cloth: &Cloth, shifts: &mut Shifts) {
        let (start, inverse_mass, before, h): (&[Vec3], &[f64], &[Shift], f64) =
            (&cloth.x, &cloth.inverse_mass, &shifts.before, shifts.h);
        let project = |first: usize, shift: &mut [Shift], (rows, lambda): &mut (Vec<u32>, Vec<f64>)| {
            potential.project(rows, lambda, &mut Place { start, inverse_mass, before, first, shift, h });
        };
        parallel::for_each_domain(&mut shifts.now, self.domain, &mut self.domains, project);
        project(0, &mut shifts.now, &mut self.crossing);
    }
}

/// How a potential is projected.
enum Table {
    /// As vector code.
    Springs(Springs),
    /// Row by row.
    General(General),
    /// Not at all: it is a load.
    Load,
}

/// One table for each potential.
#[derive(Default)]
struct Tables {
    tables: Vec<Table>,
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
        (self.node_count, self.stale) = (count, false);
        true
    }

    fn follow(&mut self, _touched: &Touched) {
        self.stale = true;
    }

    fn begin(&mut self, cloth: &Cloth, h: f64) {
        for table in &mut self.tables {
            if let Table::Springs(springs) = table {
                springs.begin(&cloth.x, &cloth.inverse_mass, h);
            }
        }
    }

    /// Forgets λ at the beginning of a substep. Springs need theirs only for more than one iteration.
    fn forget(&mut self, again: bool) {
        for table in &mut self.tables {
            match table {
                Table::Springs(springs) if again => springs.forget(),
                Table::General(general) => general.forget(),
                Table::Springs(_) | Table::Load => {}
            }
        }
    }

    /// Projects all that aren't springs once, the last first: models name the stiffest first.
    fn sweep_general(&mut self, cloth: &Cloth, forces: &Forces, shifts: &mut Shifts) {
        for (table, potential) in self.tables.iter_mut().zip(&forces.potentials).rev() {
            if let Table::General(general) = table {
                general.sweep(&**potential, cloth, shifts);
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
        let (mut springs, mut others) = (Vec::new(), false);
        potential.visit_rows(&mut |row, _| match potential.spring(row) {
            Some(spring) => springs.push(spring),
            None => others = true,
        });
        if others {
            return Self::General(General::new(potential, node_count));
        }
        let mut springs = Springs::new(springs.into_iter(), node_count);
        springs.lag = potential.lag();
        Self::Springs(springs)
    }
}
