//! What strength is multiplied by, from place to place and direction to direction.
//!
//! resistance = map(u, v) · weave(n̂)
//!
//! weave(n̂) = 1 + a (1 / max(|n̂·u|, |n̂·v|) − 1): Phillips 2008 eq. 32 takes the larger projection of the pull on
//! weft and warp as the strain that counts, so cloth is up to √2 stronger against a pull on the bias; the amount `a`
//! goes from 0 (isotropic) to 1 (the thesis).

use crate::cloth::Cloth;
use crate::math::Vec2;
use ripstop_mesh::{Column, NodeId};

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

/// Everything that strength is multiplied by.
#[derive(Clone, Debug, Default)]
pub struct Resistance {
    /// Picture of relative strength.
    pub map: Option<StrengthMap>,
    /// How much stronger cloth is against a pull on the bias, 0 to 1.
    pub weave: f64,
    /// The map at every node; empty without a map.
    factor: Column<NodeId, f64>,
    least: Option<f64>,
}

impl Resistance {
    /// Resistance by a map and by the weave.
    pub fn new(map: Option<StrengthMap>, weave: f64) -> Self {
        Self { map, weave, factor: Column::new(), least: None }
    }

    /// Looks up the nodes that have been added.
    pub(crate) fn follow(&mut self, cloth: &Cloth) {
        if let Some(map) = &self.map {
            for i in self.factor.len()..cloth.mesh.node_count() {
                let factor = map.at(cloth.mesh.node_uv(NodeId(i as u32)));
                self.factor.push(factor);
            }
            self.least = self.factor.iter().copied().reduce(f64::min);
        }
    }

    /// Factor for a pull along `pull` at a node.
    #[inline]
    pub fn at(&self, n: NodeId, pull: Vec2) -> f64 {
        let here = if self.map.is_some() { self.factor[n] } else { 1.0 };
        here * (1.0 + self.weave * (1.0 / pull.x.abs().max(pull.y.abs()) - 1.0))
    }

    /// No factor is smaller than this.
    pub fn least(&self) -> f64 {
        self.least.unwrap_or(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn the_bias_is_stronger_by_the_root_of_two() {
        let woven = Resistance::new(None, 1.0);
        assert_eq!(woven.at(NodeId(0), Vec2::X), 1.0);
        let bias = woven.at(NodeId(0), Vec2::new(1.0, 1.0).normalize());
        assert!((bias - 2f64.sqrt()).abs() < 1e-12);
        assert_eq!(Resistance::default().at(NodeId(0), Vec2::new(0.6, 0.8)), 1.0);
    }
}
