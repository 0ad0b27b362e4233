//! Air: wind and drag on faces, drag on nodes.
//!
//! Faces: F = A (μ (u·n̂) n̂ + c |u·n̂| u), a third on each node, u = w − v_f
//! Nodes: F = −d A_n |v| v
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | w | `wind` | m/s | wind at the face, with gusts |
//! | v_f | | m/s | mean velocity of the face's nodes |
//! | A, n̂ | | m², 1 | present area and normal of the face |
//! | μ | `viscous` | kg/(m²·s) | air resistance, linear in speed |
//! | c | `pressure` | kg/m³ | air resistance, quadratic in speed; ½ ρ c_w is about 0.7 |
//! | d | `Drag::coefficient` | kg/m³ | drag of a node per material area A_n that it stands for |
//!
//! Source: linear Phillips 2008 eq. 20, whose "equally distributed" means a third for each node; quadratic Bartels 2014
//! eq. 3 as |n·W| along W, taken relative to the moving face, and his drag −d v² as −d |v| v. Deviation: all are
//! per area, so that they don't depend on the mesh.

use super::{Element, ElementSet, Potential, Row, Scratch};
use crate::cloth::Cloth;
use crate::math::{Vec3, inverse_or_zero};
use crate::parallel;
use crate::wind::Wind;
use ripstop_mesh::{FaceId, Id, NodeId};

/// Wind and drag on faces. Without gusts the wind is the same everywhere, which is worth a kernel of its own.
pub struct Air<const GUSTY: bool> {
    /// Linear resistance μ [kg/(m²·s)].
    pub viscous: f64,
    /// Quadratic resistance c [kg/m³].
    pub pressure: f64,
    wind: Wind,
    time: f64,
    mean: Vec3,
    direction: Vec3,
}

impl Air<true> {
    /// Air with these resistances in which `wind` blows, over the faces of `cloth`.
    pub fn over(cloth: &Cloth, viscous: f64, pressure: f64, wind: Wind) -> Box<dyn Potential> {
        if wind.gust == 0.0 {
            Box::new(ElementSet::new(Air::<false>::new(viscous, pressure, wind), cloth))
        } else {
            Box::new(ElementSet::new(Self::new(viscous, pressure, wind), cloth))
        }
    }
}

impl<const GUSTY: bool> Air<GUSTY> {
    pub(super) fn new(viscous: f64, pressure: f64, wind: Wind) -> Self {
        let mut air = Self { viscous, pressure, wind, time: 0.0, mean: Vec3::ZERO, direction: Vec3::ZERO };
        air.set_time(0.0);
        air
    }
}

impl<const GUSTY: bool> Element<3, 0> for Air<GUSTY> {
    type Key = FaceId;
    const NAME: &'static str = "air";

    fn row(&self, cloth: &Cloth, f: FaceId) -> Option<Row<3, 0>> {
        Some((cloth.mesh.face_nodes(f), []))
    }

    fn energy(&self, _rest: &[f64; 0], _x: &[Vec3; 3]) -> f64 {
        0.0
    }

    #[inline(always)]
    fn force(&self, _rest: &[f64; 0], x: &[Vec3; 3], v: &[Vec3; 3]) -> [Vec3; 3] {
        let normal = (x[1] - x[0]).cross(x[2] - x[0]);
        let double_area = normal.length();
        let wind = if GUSTY {
            let middle = (x[0] + x[1] + x[2]) * (1.0 / 3.0);
            self.mean * self.wind.gust_factor(self.time, middle, self.direction)
        } else {
            self.mean
        };
        let relative = wind - (v[0] + v[1] + v[2]) * (1.0 / 3.0);
        let unit = normal * inverse_or_zero(double_area);
        let across = relative.dot(unit);
        [(unit * (self.viscous * across) + relative * (self.pressure * across.abs())) * (double_area * (1.0 / 6.0)); 3]
    }

    fn set_time(&mut self, time: f64) {
        self.time = time;
        self.mean = self.wind.mean(time);
        self.direction = self.mean.normalize_or_zero();
    }

    fn shift_wind(&mut self, time: f64, velocity: Vec3) {
        self.wind.shift(time, velocity);
    }
}

/// Drag on nodes.
pub struct Drag {
    /// Coefficient d [kg/m³].
    pub coefficient: f64,
}

impl Potential for Drag {
    fn name(&self) -> &'static str {
        "drag"
    }

    fn energy(&self, _cloth: &Cloth) -> f64 {
        0.0
    }

    fn add_force(&mut self, cloth: &Cloth, _x: &[Vec3], v: &[Vec3], _scratch: &mut Scratch, force: &mut [Vec3]) {
        let per_mass = self.coefficient / cloth.density;
        parallel::for_each(force, |i, force| {
            *force -= v[i] * (per_mass * cloth.mass[NodeId::new(i)] * v[i].length());
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use ripstop_mesh::{Vec2, generate};

    const FLAT: [Vec3; 3] = [Vec3::ZERO, Vec3::new(2.0, 0.0, 0.0), Vec3::new(0.0, 1.0, 0.0)];

    fn blowing(w: Vec3) -> Wind {
        Wind { keys: vec![(0.0, w)], ..Wind::default() }
    }

    #[test]
    fn head_wind_loads_and_side_wind_does_not() {
        let force = |w| Air::<true>::new(0.5, 0.7, blowing(w)).force(&[], &FLAT, &[Vec3::ZERO; 3]).iter().sum::<Vec3>();
        // A = 1 m²: 0.5 · 4 + 0.7 · 16 N on the whole face.
        assert!((force(Vec3::Z * 4.0) - Vec3::Z * (2.0 + 11.2)).length() < 1e-12);
        assert_eq!(force(Vec3::X * 4.0), Vec3::ZERO);
    }

    #[test]
    fn cloth_that_moves_with_the_wind_feels_none() {
        let w = Vec3::new(1.0, -2.0, 3.0);
        let force = Air::<true>::new(0.5, 0.7, blowing(w)).force(&[], &FLAT, &[w; 3]);
        assert!(force.iter().all(|f| f.length() < 1e-12));
    }

    #[test]
    fn drag_takes_energy_and_does_not_depend_on_the_mesh() {
        let total = |nodes: usize| {
            let cloth = Cloth::flat(generate::grid(Vec2::ONE, [nodes; 2]).unwrap(), 0.2, Placement::default());
            let v = vec![Vec3::Z * 3.0; cloth.x.len()];
            let mut force = vec![Vec3::ZERO; cloth.x.len()];
            Drag { coefficient: 0.1 }.add_force(&cloth, &cloth.x, &v, &mut Scratch::default(), &mut force);
            let mut faces = vec![Vec3::ZERO; cloth.x.len()];
            Air::over(&cloth, 0.3, 0.0, Wind::default()).add_force(
                &cloth,
                &cloth.x,
                &v,
                &mut Scratch::default(),
                &mut faces,
            );
            (force.iter().sum::<Vec3>(), faces.iter().sum::<Vec3>())
        };
        let (coarse, fine) = (total(3), total(12));
        assert!((coarse.0 - Vec3::Z * -0.9).length() < 1e-12 && (fine.0 - coarse.0).length() < 1e-12);
        assert!((coarse.1 - Vec3::Z * -0.9).length() < 1e-12 && (fine.1 - coarse.1).length() < 1e-12);
    }
}
