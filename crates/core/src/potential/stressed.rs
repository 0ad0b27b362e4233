//! What faces are under, measured for all of them at once, and kept so that loops over them are vector code.

use crate::lanes::LANES;
use crate::math::{Sym2, array};
use crate::parallel::CHUNK;
use ripstop_mesh::{FaceId, Id};

/// What a face is under. It is measured in single precision: strain to some 10⁻⁷, which no measurement of cloth is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stressed {
    /// Elastic stress (second Piola-Kirchhoff, in the material) [N/m].
    pub stress: Sym2,
    /// FᵀF, for what the material has become.
    pub metric: Sym2,
    /// Stored energy [J].
    pub energy: f64,
    /// Material area [m²].
    pub area: f64,
}

impl Stressed {
    #[inline(always)]
    fn of(numbers: [f32; COLUMNS]) -> Self {
        let [xx, xy, yy, uu, uv, vv, energy, area] = array(|k| f64::from(numbers[k]));
        Self { stress: Sym2 { xx, xy, yy }, metric: Sym2 { xx: uu, xy: uv, yy: vv }, energy, area }
    }

    /// Under both. They are of the same face.
    #[inline(always)]
    pub fn and(self, other: Self) -> Self {
        Self { stress: self.stress + other.stress, energy: self.energy + other.energy, ..other }
    }
}

/// What all faces are under, by their ids.
#[derive(Clone, Debug, Default)]
pub struct Faces {
    blocks: Vec<FaceBlock>,
    /// The square of the load of the most loaded face of each block, apart: whoever looks for loaded faces asks for all of these.
    most: Vec<[f32; BLOCKS]>,
}

/// Blocks that are measured one after the other.
pub(super) const BLOCKS: usize = CHUNK / LANES;

/// [`LANES`] faces, by eight and eight: near in memory for who looks at one, side by side for vectors. In single precision: measuring them all is mostly waiting for memory.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub(super) struct FaceBlock([[[f32; EIGHT]; COLUMNS]; LANES / EIGHT]);

const EIGHT: usize = 8;
const COLUMNS: usize = 8;

/// The same side by side, as vector code makes them.
pub(super) struct FaceLanes([[f32; LANES]; COLUMNS]);

/// The square of a load per width of cloth at rest [N²/m²] that no line across a face has more of, and hardly less, by its numbers.
#[inline(always)]
fn load_squared([xx, xy, yy, uu, uv, vv, ..]: [f32; COLUMNS]) -> f32 {
    let no_less = |xx: f32, xy: f32, yy: f32| xx.max(yy) + xy.abs();
    let pull = no_less(xx, xy, yy).max(0.0);
    pull * pull * no_less(uu, uv, vv)
}

impl FaceLanes {
    pub const ZERO: Self = Self([[0.0; LANES]; COLUMNS]);

    #[inline(always)]
    pub fn put(&mut self, lane: usize, face: Stressed) {
        let Stressed { stress: s, metric: m, energy, area } = face;
        let numbers = [s.xx, s.xy, s.yy, m.xx, m.xy, m.yy, energy, area];
        for k in 0..COLUMNS {
            self.0[k][lane] = numbers[k] as f32;
        }
    }

    #[inline(always)]
    pub fn get(&self, lane: usize) -> Stressed {
        Stressed::of(array(|k| self.0[k][lane]))
    }

    /// The square of the load of the most loaded.
    #[inline(always)]
    pub fn most(&self) -> f32 {
        let mut most = [0.0f32; LANES];
        for lane in 0..LANES {
            most[lane] = load_squared(array(|k| self.0[k][lane]));
        }
        let mut half = LANES / 2;
        while half > 0 {
            for lane in 0..half {
                most[lane] = if most[lane + half] > most[lane] { most[lane + half] } else { most[lane] };
            }
            half /= 2;
        }
        most[0]
    }
}

impl FaceBlock {
    const ZERO: Self = Self([[[0.0; EIGHT]; COLUMNS]; LANES / EIGHT]);

    #[inline(always)]
    fn numbers(&self, lane: usize) -> [f32; COLUMNS] {
        array(|k| self.0[lane / EIGHT][k][lane % EIGHT])
    }

    #[inline(always)]
    pub fn get(&self, lane: usize) -> Stressed {
        Stressed::of(self.numbers(lane))
    }

    #[inline(always)]
    pub fn set(&mut self, lanes: &FaceLanes) {
        for eight in 0..LANES / EIGHT {
            for k in 0..COLUMNS {
                for lane in 0..EIGHT {
                    self.0[eight][k][lane] = lanes.0[k][EIGHT * eight + lane];
                }
            }
        }
    }
}

impl Faces {
    /// Makes room for so many faces. What is new is under nothing.
    pub fn grow(&mut self, count: usize) {
        self.blocks.resize(count.div_ceil(LANES), FaceBlock::ZERO);
        self.most.resize(self.blocks.len().div_ceil(BLOCKS), [0.0; BLOCKS]);
    }

    /// What a face is under.
    #[inline]
    pub fn at(&self, face: FaceId) -> Stressed {
        self.blocks[face.index() / LANES].get(face.index() % LANES)
    }

    /// A load per width of cloth at rest [N/m] that no line across the face has more of, and hardly less.
    #[inline]
    pub fn load(&self, face: FaceId) -> f64 {
        f64::from(load_squared(self.blocks[face.index() / LANES].numbers(face.index() % LANES))).sqrt()
    }

    /// Calls `visit` with every face whose [load](Self::load) [N/m] is `enough`, which is above zero, and with that.
    pub fn visit_loaded(&self, enough: f64, mut visit: impl FnMut(FaceId, f32)) {
        let enough = (enough * enough) as f32;
        // Few blocks have such a face.
        for (number, _) in self.most.as_flattened().iter().enumerate().filter(|(_, most)| **most >= enough) {
            for (at, eight) in self.blocks[number].0.iter().enumerate() {
                let mut loads = [0.0; EIGHT];
                for lane in 0..EIGHT {
                    loads[lane] = load_squared(array(|k| eight[k][lane]));
                }
                let loaded = loads.iter().enumerate().filter(|(_, load)| **load >= enough);
                let face = |lane| FaceId::new(number * LANES + at * EIGHT + lane);
                loaded.for_each(|(lane, load)| visit(face(lane), load.sqrt()));
            }
        }
    }

    /// Says what a face is under.
    pub fn put(&mut self, face: FaceId, is: Stressed) {
        let (number, lane) = (face.index() / LANES, face.index() % LANES);
        let mut lanes = FaceLanes::ZERO;
        (0..LANES).for_each(|lane| lanes.put(lane, self.blocks[number].get(lane)));
        lanes.put(lane, is);
        self.blocks[number].set(&lanes);
        self.most[number / BLOCKS][number % BLOCKS] = lanes.most();
    }

    /// All blocks, and for every [`BLOCKS`] of them what is to become the [most](FaceLanes::most) of each.
    pub(super) fn blocks_mut(&mut self) -> (&mut [FaceBlock], &mut [[f32; BLOCKS]]) {
        (&mut self.blocks, &mut self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::hash_unit;

    #[test]
    fn what_is_put_is_there_and_loaded_faces_are_found() {
        let count = 5 * CHUNK / 2;
        let mut faces = Faces::default();
        faces.grow(count);
        let some = |face: usize, size: f64| {
            let number = |k: u64| hash_unit(face as u64, k) - 0.4;
            let tensor = |k: u64, by: f64| Sym2 { xx: by * number(k), xy: by * number(k + 1), yy: by * number(k + 2) };
            Stressed {
                stress: tensor(0, size),
                metric: tensor(3, 0.1) + Sym2 { xx: 1.0, xy: 0.0, yy: 1.0 },
                energy: size * number(6),
                area: 1e-4 * (1.0 + number(7)),
            }
        };
        // Some are put twice, the second time under less.
        for (step, size) in [(1, 3e3), (3, 1e3)] {
            (0..count).step_by(step).for_each(|face| faces.put(FaceId::new(face), some(face, size)));
        }
        let is = |face: usize| some(face, if face.is_multiple_of(3) { 1e3 } else { 3e3 });
        for face in 0..count {
            let (Stressed { stress: s, metric: m, energy, area }, there) = (is(face), faces.at(FaceId::new(face)));
            let wanted = [s.xx, s.xy, s.yy, m.xx, m.xy, m.yy, energy, area];
            let (s, m) = (there.stress, there.metric);
            for (a, b) in wanted.into_iter().zip([s.xx, s.xy, s.yy, m.xx, m.xy, m.yy, there.energy, there.area]) {
                assert!((a - b).abs() <= 6e-8 * a.abs(), "{a} became {b}");
            }
            let load = {
                let no_less = |t: Sym2| t.xx.max(t.yy) + t.xy.abs();
                no_less(is(face).stress).max(0.0) * no_less(is(face).metric).sqrt()
            };
            // Its parts may cancel each other.
            assert!((faces.load(FaceId::new(face)) - load).abs() <= 1e-6 * load + 1e-7 * 3e3);
        }
        for enough in [100.0, 900.0, 2500.0, 1e4] {
            let mut found = Vec::new();
            faces.visit_loaded(enough, |face, load| found.push((face, load)));
            let loaded = (0..count).map(FaceId::new).filter(|&face| faces.load(face) >= enough);
            assert!(found.iter().map(|(face, _)| *face).eq(loaded), "{enough}");
            assert!(found.iter().all(|&(face, load)| (f64::from(load) / faces.load(face) - 1.0).abs() < 1e-6));
        }
    }
}
