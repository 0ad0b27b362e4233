//! What strength is multiplied by, from place to place and direction to direction.
//!
//! resistance = map(u, v) · hem(u, v) · noise(u, v) · weave(n̂) · weak · min(whole, seam(n̂))
//!
//! hem: where cloth is gripped it would tear first, since the grip keeps it from narrowing and the strain at the end of a
//! clamp grows without bound as triangles shrink. Real cloth is hemmed or doubled there. The factor falls linearly
//! from its full value at gripped nodes to one at a distance.
//!
//! weave(n̂) = 1 + a (1 / max(|n̂·u|, |n̂·v|) − 1): Phillips 2008 eq. 32 takes the larger projection of the pull on
//! weft and warp as the strain that counts, so cloth is up to √2 stronger against a pull on the bias; the amount `a`
//! goes from 0 (isotropic) to 1 (the thesis).
//!
//! weak: at the tip of a tear cloth gives way more easily than where it is whole (Önal & İşler 2013 §3.2.2), so a tear runs on instead of beginning anew beside
//! itself; one where the node is no tip.
//!
//! noise: see [`Noise`]. seam(n̂): see [`seam`](super::seam); infinite off seams.
//!
//! whole: infinite at nodes that never part ([`Cloth::untearable`]) and at their neighbours, one elsewhere. An opening parts a
//! node along edges to its neighbours, or along edges made between them, so no edge that ends in such a node ever opens by load,
//! whatever criterion and opening are. Seams and tears by hand are asked for by name: they go through.

use super::Noise;
use crate::cloth::{Cloth, Touched};
use crate::criterion::star;
use crate::math::Vec2;
use ripstop_mesh::{Column, EdgeId, Id, NodeId};
use smallvec::SmallVec;

/// Relative strength over the material, from a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct StrengthMap {
    /// Columns of the picture.
    pub width: usize,
    /// Rows of the picture.
    pub height: usize,
    /// Factors row by row, the first row at the largest v.
    pub factors: Vec<f64>,
    /// Material point of the picture's lower left corner [m].
    pub origin: Vec2,
    /// Extent of the picture on the material [m].
    pub size: Vec2,
}

impl StrengthMap {
    /// Factor at a material point, bilinear between the middles of pixels, constant outside.
    pub fn at(&self, uv: Vec2) -> f64 {
        let p = (uv - self.origin) / self.size;
        let place = |t: f64, count: usize| (t * count as f64 - 0.5).clamp(0.0, (count - 1) as f64);
        let (x, y) = (place(p.x, self.width), place(1.0 - p.y, self.height));
        let (i, j) = (x.floor() as usize, y.floor() as usize);
        let (s, t) = (x - i as f64, y - j as f64);
        let pixel = |i: usize, j: usize| self.factors[i.min(self.width - 1) + j.min(self.height - 1) * self.width];
        let row = |j| pixel(i, j) * (1.0 - s) + pixel(i + 1, j) * s;
        row(j) * (1.0 - t) + row(j + 1) * t
    }
}

/// Stronger cloth around some material points.
#[derive(Clone, Debug, PartialEq)]
pub struct Hem {
    /// The points [m], usually those of gripped nodes.
    pub points: Vec<Vec2>,
    /// Distance at which it ends [m].
    pub width: f64,
    /// Factor at the points.
    pub factor: f64,
}

impl Hem {
    /// Factor at a material point.
    pub fn at(&self, uv: Vec2) -> f64 {
        let nearest = self.points.iter().map(|p| p.distance_squared(uv)).fold(f64::INFINITY, f64::min).sqrt();
        1.0 + (self.factor - 1.0) * (1.0 - nearest / self.width).max(0.0)
    }
}

/// Everything that strength is multiplied by.
#[derive(Clone, Debug)]
pub struct Resistance {
    /// Picture of relative strength.
    pub map: Option<StrengthMap>,
    /// Stronger cloth at grips.
    pub hem: Option<Hem>,
    /// How much stronger cloth is against a pull on the bias, 0 to 1.
    pub weave: f64,
    /// Relative strength at the tip of a tear.
    pub weak: f64,
    /// Variation by place.
    pub noise: Option<Noise>,
    /// Map, hem and noise at every node; empty without any.
    factor: Column<NodeId, f64>,
    least: Option<f64>,
    /// Nodes that never part by load, and their neighbours; empty if there are none.
    whole: Column<NodeId, bool>,
    /// Stitches at nodes, in order of nodes.
    sewn: Vec<Sewn>,
    weakest_seam: f64,
}

/// A stitch that load can open, seen from one of its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sewn {
    node: NodeId,
    edge: EdgeId,
    seam: u32,
    strength: f64,
    /// Across the seam (unit, material).
    across: Vec2,
}

impl Sewn {
    /// Its strength over that of the cloth against a pull.
    fn factor(&self, pull: Vec2) -> f64 {
        let share = pull.dot(self.across);
        self.strength / (share * share)
    }
}

impl Default for Resistance {
    fn default() -> Self {
        Self::new(None, None, 0.0)
    }
}

impl Resistance {
    /// Resistance by a map, a hem and the weave.
    pub fn new(map: Option<StrengthMap>, hem: Option<Hem>, weave: f64) -> Self {
        Self {
            map,
            hem,
            weave,
            weak: 1.0,
            noise: None,
            factor: Column::new(),
            least: None,
            whole: Column::new(),
            sewn: Vec::new(),
            weakest_seam: f64::INFINITY,
        }
    }

    /// The same with strength that varies from place to place.
    pub fn with_noise(self, noise: Option<Noise>) -> Self {
        Self { noise, ..self }
    }

    /// Looks up the nodes that have been added, and what has changed at others.
    pub(crate) fn follow(&mut self, cloth: &Cloth, touched: &Touched) {
        self.follow_whole(cloth, touched);
        self.follow_seams(cloth);
        if self.map.is_none() && self.hem.is_none() && self.noise.is_none() {
            return;
        }
        let known = self.factor.len();
        let mut factor = std::mem::take(&mut self.factor);
        for &n in touched.nodes.iter().filter(|n| n.index() < known) {
            factor[n] = self.by_place(cloth.mesh.node_uv(n));
        }
        factor.extend_to(cloth.mesh.node_count(), |n| self.by_place(cloth.mesh.node_uv(n)));
        self.least = factor.iter().copied().reduce(f64::min);
        self.factor = factor;
    }

    /// Map, hem and noise at a material point.
    fn by_place(&self, uv: Vec2) -> f64 {
        let map = self.map.as_ref().map_or(1.0, |map| map.at(uv));
        let hem = self.hem.as_ref().map_or(1.0, |hem| hem.at(uv));
        map * hem * self.noise.map_or(1.0, |noise| noise.at(uv))
    }

    fn follow_whole(&mut self, cloth: &Cloth, touched: &Touched) {
        if cloth.untearable.is_empty() {
            return;
        }
        let near = |n: NodeId| {
            let ends = star(&cloth.mesh, n).flat_map(|(e, _)| cloth.mesh.edge_nodes(e));
            cloth.untearable[n] || ends.into_iter().any(|m| cloth.untearable[m])
        };
        let known = self.whole.len();
        for &n in touched.nodes.iter().filter(|n| n.index() < known) {
            self.whole[n] = near(n);
        }
        self.whole.extend_to(cloth.mesh.node_count(), near);
    }

    fn follow_seams(&mut self, cloth: &Cloth) {
        self.sewn.clear();
        self.weakest_seam = f64::INFINITY;
        for (edge, stitch) in cloth.seams.stitches() {
            let Some(strength) = cloth.seams.strength(stitch) else { continue };
            let sewn = |node| Sewn { node, edge, seam: stitch.seam, strength, across: stitch.along.perp() };
            self.sewn.extend(cloth.mesh.edge_nodes(edge).map(sewn));
            self.weakest_seam = self.weakest_seam.min(strength);
        }
        self.sewn.sort_unstable_by_key(|sewn| (sewn.node, sewn.edge));
    }

    /// The stitches at a node that load can open.
    #[inline]
    fn sewn(&self, n: NodeId) -> &[Sewn] {
        if self.sewn.is_empty() {
            return &[];
        }
        let from = self.sewn.partition_point(|sewn| sewn.node < n);
        let count = self.sewn[from..].iter().take_while(|sewn| sewn.node == n).count();
        &self.sewn[from..from + count]
    }

    /// True if this node or one beside it never parts by load.
    #[inline]
    pub fn is_whole(&self, n: NodeId) -> bool {
        !self.whole.is_empty() && self.whole[n]
    }

    /// The cloth itself, where it may tear.
    #[inline]
    fn cloth(&self, n: NodeId) -> f64 {
        if self.is_whole(n) { f64::INFINITY } else { 1.0 }
    }

    #[inline]
    fn here(&self, cloth: &Cloth, n: NodeId) -> f64 {
        let here = if self.factor.is_empty() { 1.0 } else { self.factor[n] };
        if cloth.weak[n] { here * self.weak } else { here }
    }

    /// Factor for a pull along `pull` at a node; infinite where nothing gives way.
    #[inline]
    pub fn at(&self, cloth: &Cloth, n: NodeId, pull: Vec2) -> f64 {
        let weave = 1.0 + self.weave * (1.0 / pull.x.abs().max(pull.y.abs()) - 1.0);
        let seam = self.sewn(n).iter().map(|sewn| sewn.factor(pull));
        self.here(cloth, n) * weave * seam.fold(self.cloth(n), f64::min)
    }

    /// True if the factor at this node is the same for every pull.
    #[inline]
    pub fn is_even(&self, n: NodeId) -> bool {
        self.weave == 0.0 && self.sewn(n).is_empty()
    }

    /// No factor at this node is smaller, whatever the pull; infinite where nothing gives way.
    #[inline]
    pub fn least_at(&self, cloth: &Cloth, n: NodeId) -> f64 {
        self.here(cloth, n) * self.sewn(n).iter().map(|sewn| sewn.strength).fold(self.cloth(n), f64::min)
    }

    /// No factor is smaller than this.
    pub fn least(&self) -> f64 {
        self.least.unwrap_or(1.0)
            * self.weak.min(1.0)
            * if self.sewn.is_empty() { 1.0 } else { self.weakest_seam.min(1.0) }
    }

    /// The stitches that give way to a pull at this node before the cloth does; none if it is the cloth that tears. Of two
    /// seams that meet the one that gives way first.
    pub(crate) fn seam_at(&self, n: NodeId, pull: Vec2) -> SmallVec<[EdgeId; 4]> {
        let sewn = self.sewn(n);
        let weakest = sewn.iter().min_by(|a, b| a.factor(pull).total_cmp(&b.factor(pull)));
        let Some(weakest) = weakest.filter(|sewn| sewn.factor(pull) <= self.cloth(n)) else { return SmallVec::new() };
        // Round a corner of the seam only what is pulled across, unless that is nothing.
        let limit = weakest.factor(pull).max(1.0);
        sewn.iter().filter(|s| s.seam == weakest.seam && s.factor(pull) <= limit).map(|s| s.edge).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use ripstop_mesh::generate;

    #[test]
    fn a_map_lies_the_right_way_up() {
        let map = StrengthMap {
            width: 2,
            height: 2,
            factors: vec![1.0, 2.0, 3.0, 4.0],
            origin: Vec2::ZERO,
            size: Vec2::new(2.0, 1.0),
        };
        // First row of the picture is the top: the largest v.
        assert_eq!(map.at(Vec2::new(0.0, 1.0)), 1.0);
        assert_eq!(map.at(Vec2::new(2.0, 1.0)), 2.0);
        assert_eq!(map.at(Vec2::new(0.0, 0.0)), 3.0);
        assert_eq!(map.at(Vec2::new(1.0, 0.5)), 2.5);
        assert_eq!(map.at(Vec2::new(9.0, -9.0)), 4.0);
    }

    #[test]
    fn a_hem_ends_at_its_width() {
        let hem = Hem { points: vec![Vec2::ZERO, Vec2::X], width: 0.2, factor: 1.6 };
        assert_eq!(hem.at(Vec2::X), 1.6);
        assert!((hem.at(Vec2::new(1.0, 0.1)) - 1.3).abs() < 1e-12);
        assert_eq!(hem.at(Vec2::new(0.5, 0.0)), 1.0);
    }

    #[test]
    fn the_bias_is_stronger_by_the_root_of_two() {
        let mut cloth = Cloth::flat(generate::grid(Vec2::ONE, [2, 2]).unwrap(), 0.1, Placement::default());
        let mut woven = Resistance::new(None, None, 1.0);
        assert_eq!(woven.at(&cloth, NodeId(0), Vec2::X), 1.0);
        let bias = woven.at(&cloth, NodeId(0), Vec2::new(1.0, 1.0).normalize());
        assert!((bias - 2f64.sqrt()).abs() < 1e-12);
        assert_eq!(Resistance::default().at(&cloth, NodeId(0), Vec2::new(0.6, 0.8)), 1.0);
        (woven.weak, cloth.weak[NodeId(0)]) = (0.5, true);
        assert_eq!([0, 1].map(|n| woven.at(&cloth, NodeId(n), Vec2::X)), [0.5, 1.0]);
    }
}
