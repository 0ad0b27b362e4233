//! Triangles that resist strain: the membrane as finite elements.
//!
//! U = Σ r_ui P_i,  V = Σ r_vi P_i,  ε_uu = ½ (U·U − g_uu),  ε_vv = ½ (V·V − g_vv),  γ = U·V − g_uv
//!
//! σ_uu = c₁₁ ε_uu + c₁₂ ε_vv,  σ_vv = c₁₂ ε_uu + c₂₂ ε_vv,  σ_uv = c₃₃ γ;  all plus τ times the same of the rates ε̇
//!
//! F_j = −A (σ_uu r_uj U + σ_vv r_vj V + σ_uv (r_uj V + r_vj U)),  energy ½ A (σ_uu ε_uu + σ_vv ε_vv + σ_uv γ) at rest
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | P_i | `x` | m | positions of the three nodes |
//! | r_ui, r_vi | `weights` | 1/m | weights that make material coordinates' derivatives of positions |
//! | U, V | | 1 | what one metre of weft and of warp has become |
//! | ε_uu, ε_vv, γ | `strain` | 1 | Green-Lagrange strain; γ is twice the tensor's off-diagonal |
//! | g | `rest` | 1 | what U·U, U·V, V·V are at rest: 1, 0, 1 unless the cloth has flowed |
//! | σ | `stress` | N/m | second Piola-Kirchhoff stress: force per width of material |
//! | c₁₁, c₂₂ | `weft`, `warp` | N/m | stiffness along weft and warp, the other direction held |
//! | c₁₂, c₃₃ | `across`, `shear` | N/m | coupling of the two (Poisson), and stiffness of shear |
//! | τ | `damping` | s | `fabric.damping`: dashpot over spring |
//! | A | | m² | material area |
//!
//! Stiffness: K_ij = A (Σ_mn C_mn b_im b_jnᵀ + r_iᵀ σ⁺ r_j I), b_i = (r_ui U, r_vi V, r_ui V + r_vi U). Damping: D_ij = A τ Σ C_mn b_im b_jnᵀ.
//!
//! Source: Karaöz 2015 eqs. 2.13–2.33 (Volino 2009); St.Venant-Kirchhoff. Deviations: eq. 2.33 leaves out what c₁₂ adds, b₁b₂ᵀ +
//! b₂b₁ᵀ, which is here; its stress is replaced by the positive part σ⁺ (2×2, by eigenvalues), since compressed triangles would
//! make the matrix indefinite; where both principal stresses pull, K is the exact derivative. Damping and the rest metric g (plastic
//! flow of the three edges) aren't in K. Rates of strain are zero in free fall and in rigid motion, so damping slows neither.
//!
//! Limits: for small strain. Under strong compression St.Venant-Kirchhoff softens, and a triangle turned inside out in its plane
//! isn't pushed back; cloth buckles before. Green strain s + s²/2 makes large stretch stiffer than `Stretch`.
//!
//! C may be one matrix ([`Elasticity`]: isotropic or orthotropic) or differ with the strain ([`Measured`](super::Measured), [`Crimped`](super::Crimped)): a [`Law`].

use super::{Element, Row, Stressed, Tangent};
use crate::cloth::Cloth;
use crate::fabric::Fabric;
use crate::math::{Mat3, Sym2, Vec3, outer};
use ripstop_mesh::FaceId;

/// The matrix C of an orthotropic sheet, its axes weft and warp [N/m].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Elasticity {
    /// c₁₁: along the weft.
    pub weft: f64,
    /// c₁₂: how much strain along one thread pulls along the other.
    pub across: f64,
    /// c₂₂: along the warp.
    pub warp: f64,
    /// c₃₃: shear.
    pub shear: f64,
}

impl Elasticity {
    /// Poisson's ratio of a fabric of which nothing else is known: threads slide over each other, so it is small.
    const POISSON: f64 = 0.1;

    /// What the two stiffnesses of a fabric say: a strip cut along its threads has `fabric.stretch`, and a sheared square
    /// stores what [`Shear`](super::Shear) does in a grid, ¾ S γ².
    pub fn of(fabric: &Fabric) -> Self {
        let along = fabric.stretch / (1.0 - Self::POISSON * Self::POISSON);
        Self { weft: along, across: Self::POISSON * along, warp: along, shear: 1.5 * fabric.shear }
    }

    /// A sheet that is alike in all directions (K eq. 2.11): Young's modulus per width [N/m] and Poisson's ratio.
    pub fn isotropic(young: f64, poisson: f64) -> Self {
        let along = young / (1.0 - poisson * poisson);
        Self { weft: along, across: poisson * along, warp: along, shear: 0.5 * (1.0 - poisson) * along }
    }

    /// The first constant that makes no sense, by its symbol, and why: strain must cost energy.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let must = |key, value: f64, ok: bool, rule: &str| {
            if ok && value.is_finite() { Ok(()) } else { Err((key, format!("`{key}` is {value}, but must be {rule}"))) }
        };
        must("c11", self.weft, self.weft > 0.0, "above zero [N/m]")?;
        must("c22", self.warp, self.warp > 0.0, "above zero [N/m]")?;
        must("c33", self.shear, self.shear >= 0.0, "zero or more [N/m]")?;
        let stable = self.across * self.across < self.weft * self.warp;
        must("c12", self.across, stable, "below the root of c11 · c22 in size, or strain would give energy")
    }

    /// Gershgorin: no strain of length one gives more stress [N/m].
    pub(super) fn most(&self) -> f64 {
        self.weft.max(self.warp) + self.across.abs() + self.shear
    }

    /// C e.
    #[inline(always)]
    pub fn stress(&self, [u, v, shear]: [f64; 3]) -> [f64; 3] {
        [self.weft * u + self.across * v, self.across * u + self.warp * v, self.shear * shear]
    }
}

/// How C follows from the strain (ε_uu, ε_vv, γ). Kernels call it: `#[inline(always)]` and no branch.
pub trait Law: Send + Sync + 'static {
    /// The C that makes stress of strain, and damping.
    fn at(&self, strain: [f64; 3]) -> Elasticity;

    /// The C that makes changes of stress of changes of strain, as well as a positive semi-definite one can.
    fn slope(&self, strain: [f64; 3]) -> Elasticity;

    /// Stored energy per area [J/m²].
    #[inline(always)]
    fn energy(&self, strain: [f64; 3]) -> f64 {
        let stress = self.at(strain).stress(strain);
        0.5 * (stress[0] * strain[0] + stress[1] * strain[1] + stress[2] * strain[2])
    }

    /// No strain of length one gives more stress than this [N/m].
    fn most(&self) -> f64;

    /// C if it is the same for all strains.
    fn constant(&self) -> Option<Elasticity> {
        None
    }
}

impl Law for Elasticity {
    #[inline(always)]
    fn at(&self, _strain: [f64; 3]) -> Elasticity {
        *self
    }

    #[inline(always)]
    fn slope(&self, _strain: [f64; 3]) -> Elasticity {
        *self
    }

    fn most(&self) -> f64 {
        self.most()
    }

    fn constant(&self) -> Option<Elasticity> {
        Some(*self)
    }
}

/// Finite elements of the membrane.
pub struct Membrane<L = Elasticity> {
    /// The matrix C.
    pub elasticity: L,
    /// Dashpot over spring τ [s].
    pub damping: f64,
}

/// Weights r_u and r_v of the first two nodes (the three add up to zero) [1/m], material area [m²], rest metric
/// g_uu, g_uv, g_vv, and the bound of the stiffness [N/m].
type Sheet = [f64; 9];

/// Weights r_u and r_v of the three nodes.
#[inline(always)]
fn weights(rest: &Sheet) -> [[f64; 3]; 2] {
    [[rest[0], rest[1], -rest[0] - rest[1]], [rest[2], rest[3], -rest[2] - rest[3]]]
}

/// U and V, of positions or of velocities.
#[inline(always)]
fn threads([ru, rv]: &[[f64; 3]; 2], x: &[Vec3; 3]) -> (Vec3, Vec3) {
    // By differences, so that a translation changes no bit that matters.
    let (p, q) = (x[1] - x[0], x[2] - x[0]);
    (p * ru[1] + q * ru[2], p * rv[1] + q * rv[2])
}

/// A sum of two vectors in single precision, each by its weight.
#[inline(always)]
fn between(p: &[f32; 3], by_p: f32, q: &[f32; 3], by_q: f32) -> [f32; 3] {
    [p[0] * by_p + q[0] * by_q, p[1] * by_p + q[1] * by_q, p[2] * by_p + q[2] * by_q]
}

#[inline(always)]
fn dot(a: [f32; 3], b: [f32; 3]) -> f32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline(always)]
fn strain(rest: &Sheet, u: Vec3, v: Vec3) -> [f64; 3] {
    [0.5 * (u.dot(u) - rest[5]), 0.5 * (v.dot(v) - rest[7]), u.dot(v) - rest[6]]
}

impl<L: Law> Element<3, 9> for Membrane<L> {
    type Key = FaceId;
    const NAME: &'static str = "membrane";
    const STIFF: bool = true;
    const STRESSED: bool = true;

    fn row(&self, cloth: &Cloth, f: FaceId) -> Option<Row<3, 9>> {
        let uv = cloth.mesh.face_uv(f);
        let d = (uv[1] - uv[0]).perp_dot(uv[2] - uv[0]);
        let (mut ru, mut rv) = ([0.0; 3], [0.0; 3]);
        for k in 0..3 {
            let across = uv[(k + 1) % 3] - uv[(k + 2) % 3];
            (ru[k], rv[k]) = (across.y / d, -across.x / d);
        }
        // Squares of rest lengths less those as woven, of the edges 01, 12, 20, give the change of the metric.
        let [s01, s12, s20] = f.corners().map(|c| {
            let e = cloth.mesh.edge(c);
            cloth.rest[e] * cloth.rest[e] - cloth.woven[e] * cloth.woven[e]
        });
        let mixed = 0.5 * (s01 + s20 - s12);
        let change =
            |a: &[f64; 3], b: &[f64; 3]| a[1] * b[1] * s01 + (a[1] * b[2] + a[2] * b[1]) * mixed + a[2] * b[2] * s20;
        let area = 0.5 * d.abs();
        // The largest stiffness against the sum of squared weights, doubled for strain below one.
        let most = self.elasticity.most();
        let squares: f64 = ru.iter().chain(&rv).map(|r| r * r).sum();
        let metric = [1.0 + change(&ru, &ru), change(&ru, &rv), 1.0 + change(&rv, &rv)];
        let [g_uu, g_uv, g_vv] = metric;
        Some((cloth.mesh.face_nodes(f), [ru[0], ru[1], rv[0], rv[1], area, g_uu, g_uv, g_vv, most * area * squares]))
    }

    #[inline(always)]
    fn energy(&self, rest: &Sheet, x: &[Vec3; 3]) -> f64 {
        let (u, v) = threads(&weights(rest), x);
        rest[4] * self.elasticity.energy(strain(rest, u, v))
    }

    #[inline(always)]
    fn stressed(&self, rest: &[f32; 9], [_, p, q]: &[[f32; 3]; 3]) -> Stressed {
        let u = between(p, rest[1], q, -rest[0] - rest[1]);
        let v = between(p, rest[3], q, -rest[2] - rest[3]);
        let (uu, uv, vv) = (dot(u, u), dot(u, v), dot(v, v));
        let strain = [0.5 * (uu - rest[5]), 0.5 * (vv - rest[7]), uv - rest[6]];
        let strain = [f64::from(strain[0]), f64::from(strain[1]), f64::from(strain[2])];
        let [xx, yy, xy] = self.elasticity.at(strain).stress(strain);
        let area = f64::from(rest[4]);
        Stressed {
            stress: Sym2 { xx, xy, yy },
            metric: Sym2 { xx: f64::from(uu), xy: f64::from(uv), yy: f64::from(vv) },
            energy: area * self.elasticity.energy(strain),
            area,
        }
    }

    #[inline(always)]
    fn force(&self, rest: &Sheet, x: &[Vec3; 3], v: &[Vec3; 3]) -> [Vec3; 3] {
        let weights = weights(rest);
        let ((weft, warp), (weft_rate, warp_rate)) = (threads(&weights, x), threads(&weights, v));
        let mut strain = strain(rest, weft, warp);
        let c = self.elasticity.at(strain);
        // C is linear: strain plus τ times its rate in one go.
        strain[0] += self.damping * weft.dot(weft_rate);
        strain[1] += self.damping * warp.dot(warp_rate);
        strain[2] += self.damping * (weft.dot(warp_rate) + warp.dot(weft_rate));
        let stress = c.stress(strain);
        let along_u = (weft * stress[0] + warp * stress[2]) * rest[4];
        let along_v = (warp * stress[1] + weft * stress[2]) * rest[4];
        let [ru, rv] = weights;
        let on_1 = -(along_u * ru[1] + along_v * rv[1]);
        let on_2 = -(along_u * ru[2] + along_v * rv[2]);
        [-(on_1 + on_2), on_1, on_2]
    }

    #[inline(always)]
    fn tangent(&self, rest: &Sheet, x: &[Vec3; 3], per_x: f64, per_v: f64) -> Tangent<3> {
        let weights = weights(rest);
        let (u, v) = threads(&weights, x);
        let strain = strain(rest, u, v);
        let (at, slope) = (self.elasticity.at(strain), self.elasticity.slope(strain));
        let [xx, yy, xy] = at.stress(strain);
        let pull = Sym2 { xx, xy, yy }.positive_part();
        let (elastic, viscous) = (rest[4] * per_x, rest[4] * (per_v * self.damping));
        let c = Elasticity {
            weft: slope.weft * elastic + at.weft * viscous,
            across: slope.across * elastic + at.across * viscous,
            warp: slope.warp * elastic + at.warp * viscous,
            shear: slope.shear * elastic + at.shear * viscous,
        };
        let turning = rest[4] * per_x;
        let (uu, vv, uv) = (outer(u, u), outer(v, v), outer(u, v));
        let along = |stress: f64| Mat3::from_diagonal(Vec3::splat(turning * stress));
        let by_uu = uu * c.weft + vv * c.shear + along(pull.xx);
        let by_vv = vv * c.warp + uu * c.shear + along(pull.yy);
        let by_uv = uv * c.across + uv.transpose() * c.shear + along(pull.xy);
        let by_vu = by_uv.transpose();
        let [ru, rv] = weights;
        // Written out: a loop so long isn't unrolled, and then isn't vector code.
        let row = |i: usize| (by_uu * ru[i] + by_vu * rv[i], by_uv * ru[i] + by_vv * rv[i]);
        let block = |(left_u, left_v): (Mat3, Mat3), j: usize| left_u * ru[j] + left_v * rv[j];
        let (r0, r1, r2) = (row(0), row(1), row(2));
        [
            [block(r0, 0), block(r0, 1), block(r0, 2)],
            [block(r1, 0), block(r1, 1), block(r1, 2)],
            [block(r2, 0), block(r2, 1), block(r2, 2)],
        ]
    }

    fn triangle(&self, rest: &Sheet) -> Option<([f64; 4], f64, [f64; 3], Elasticity)> {
        let [[_, u1, u2], [_, v1, v2]] = weights(rest);
        Some(([u1, u2, v1, v2], rest[4], [rest[5], rest[6], rest[7]], self.elasticity.constant()?))
    }

    fn lag(&self) -> f64 {
        self.damping
    }

    fn bounds(&self, rest: &Sheet) -> (f64, f64) {
        (2.0 * rest[8], 2.0 * rest[8] * self.damping)
    }
}

#[cfg(test)]
mod tests {
    use super::super::laws;
    use super::*;
    use crate::cloth::Placement;
    use crate::math::rotate;
    use crate::plastic::Plasticity;
    use crate::potential::{ElementSet, Potential, Scratch};
    use ripstop_mesh::{Vec2, generate};

    const SHEET: Membrane =
        Membrane { elasticity: Elasticity { weft: 50.0, across: 8.0, warp: 30.0, shear: 6.0 }, damping: 0.1 };
    const STILL: [Vec3; 3] = [Vec3::ZERO; 3];

    /// An irregular sheet, its material mapped to the world by a matrix.
    fn mapped(weft: Vec3, warp: Vec3) -> Cloth {
        let place = Placement { origin: Vec3::new(0.3, 0.1, -0.2), weft, warp };
        Cloth::flat(generate::irregular(Vec2::new(1.0, 0.7), 0.15, 4).unwrap(), 0.2, place)
    }

    fn some_face(weft: Vec3, warp: Vec3) -> (Sheet, [Vec3; 3]) {
        let cloth = mapped(weft, warp);
        let (nodes, rest) = SHEET.row(&cloth, FaceId(7)).unwrap();
        (rest, nodes.map(|n| cloth.x[n]))
    }

    #[test]
    fn obeys_the_laws() {
        let (rest, x) = some_face(Vec3::new(1.1, 0.2, 0.1), Vec3::new(-0.1, 0.9, 0.7));
        laws::force_is_the_gradient(&SHEET, &rest, x, 50.0);
        let v = [Vec3::new(0.3, -1.0, 0.0), Vec3::new(-0.5, 0.2, 0.9), Vec3::new(0.1, 0.4, -0.7)];
        laws::balanced(x, SHEET.force(&rest, &x, &v), 50.0);
        laws::stiffness_is_the_slope(&SHEET, &rest, x, 50.0);
        laws::damping_is_the_slope(&SHEET, &rest, x, 50.0);
        let (rest, short) = some_face(Vec3::new(0.8, 0.2, 0.1), Vec3::new(-0.1, 0.6, 0.2));
        laws::stiffness_never_pushes(&SHEET, &rest, short, 50.0);
        let (rest, flat) = some_face(Vec3::X, Vec3::Y);
        laws::stiffness_is_the_slope(&SHEET, &rest, flat, 50.0);
    }

    #[test]
    fn rotation_costs_no_energy_and_flight_is_not_damped() {
        let turned = |p: Vec3| rotate(p, Vec3::new(1.0, 2.0, 2.0) / 3.0, 1.1);
        let (rest, x) = some_face(turned(Vec3::X), turned(Vec3::Y));
        assert!(SHEET.energy(&rest, &x) < 1e-28);
        let spin = Vec3::new(0.3, -0.2, 0.9);
        let v = x.map(|p| Vec3::new(1.0, -3.0, 2.0) + spin.cross(p));
        assert!(SHEET.force(&rest, &x, &v).iter().all(|f| f.length() < 1e-13));
    }

    #[test]
    fn patch_uniform_strain_leaves_no_force_inside_on_any_mesh() {
        let (weft, warp) = (Vec3::new(1.05, 0.02, 0.1), Vec3::new(-0.03, 0.97, 0.2));
        let cloth = mapped(weft, warp);
        let mut set = ElementSet::new(SHEET, &cloth);
        let mut force = vec![Vec3::ZERO; cloth.x.len()];
        set.add_force(&cloth, &cloth.x, &cloth.v, &mut Scratch::default(), &mut force);
        let inside = cloth.mesh.nodes().filter(|&n| !cloth.mesh.is_border_node(n));
        let largest = |nodes: &mut dyn Iterator<Item = ripstop_mesh::NodeId>| {
            nodes.map(|n| force[n.0 as usize].length()).fold(0.0, f64::max)
        };
        assert!(largest(&mut { inside }) < 1e-13);
        assert!(largest(&mut cloth.mesh.nodes()) > 0.1, "the border carries the load");
        // Energy per area is that of the strain, by hand.
        let [e, f, g] = [0.5 * (weft.dot(weft) - 1.0), 0.5 * (warp.dot(warp) - 1.0), weft.dot(warp)];
        let density = 0.5 * (50.0 * e * e + 2.0 * 8.0 * e * f + 30.0 * f * f + 6.0 * g * g);
        assert!((set.energy(&cloth) / (0.7 * density) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn shear_is_that_of_the_springs() {
        let (fabric, angle) = (Fabric { shear: 30.0, ..Fabric::default() }, 1e-4);
        let cloth = Cloth::flat(
            generate::grid(Vec2::ONE, [5, 5]).unwrap(),
            0.2,
            Placement { warp: Vec3::new(angle, 1.0, 0.0), ..Placement::default() },
        );
        let corners = ElementSet::new(crate::potential::Shear { stiffness: fabric.shear }, &cloth).energy(&cloth);
        let elasticity = Elasticity { weft: 1e-9, across: 0.0, warp: 1e-9, shear: Elasticity::of(&fabric).shear };
        let sheet = ElementSet::new(Membrane { elasticity, damping: 0.0 }, &cloth).energy(&cloth);
        assert!((sheet / corners - 1.0).abs() < 1e-3, "{sheet} J, corners {corners} J");
    }

    #[test]
    fn cloth_that_has_flowed_rests_at_its_new_lengths() {
        let mut cloth = mapped(Vec3::X * 1.2, Vec3::Y * 1.1);
        let touched = Plasticity { yield_strain: 1e-9, flow: 1.0 }.flow(&mut cloth);
        assert!(touched.is_some());
        assert!(ElementSet::new(SHEET, &cloth).energy(&cloth) < 1e-6 * 50.0);
    }

    #[test]
    fn impossible_constants_are_named() {
        let good = Elasticity::of(&Fabric::default());
        assert!(good.check().is_ok());
        assert_eq!(Elasticity { across: good.weft, ..good }.check().unwrap_err().0, "c12");
        assert_eq!(Elasticity { weft: 0.0, ..good }.check().unwrap_err().0, "c11");
        assert!(
            SHEET.force(&some_face(Vec3::X, Vec3::Y).0, &some_face(Vec3::X, Vec3::Y).1, &STILL)[0].length() < 1e-13
        );
    }
}
