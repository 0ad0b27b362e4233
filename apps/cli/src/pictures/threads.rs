//! The yarns of woven cloth as curves to be drawn.
//!
//! As it looks, every yarn has the colour of its kind and torn ends thin out. By levels (Metaaphanon 2009, Fig. 11) what is whole has one colour and
//! what has become yarns another. In all other pictures the whole part is drawn as a sheet, and only loose yarns as yarns.

use super::args::Colour;
use super::solids::linear;
use glam::Vec3;
use ripstop_render::Yarn;
use ripstop_render::colour::srgb;
use ripstop_scene::cache::Yarns;
use ripstop_scene::file;

/// Length over which a torn end thins out, over the distance of yarns.
const FADE: f32 = 1.2;

/// Colours of yarns.
#[derive(Clone, Copy)]
pub struct Dyes {
    warp: Vec3,
    weft: Vec3,
}

impl Dyes {
    /// Those of a scene; without any, natural warps and blue wefts.
    pub fn of(look: &file::Look) -> Self {
        let colour = |given: Option<[f32; 3]>, usual: u32| given.map_or(srgb(usual), linear);
        let weft = look.weft_colour.or(look.colour);
        Self { warp: colour(look.colour, 0xe6dcc6), weft: colour(weft, 0x3f6fb5) }
    }
}

/// The points of a frame's yarns as the renderer wants them.
pub struct Threads {
    points: Vec<Vec3>,
    velocities: Vec<Vec3>,
}

impl Threads {
    pub fn of(yarns: &Yarns) -> Self {
        let all = |list: &[[f32; 3]]| list.iter().map(|&p| p.into()).collect();
        Self { points: all(&yarns.points), velocities: all(&yarns.velocities) }
    }

    /// What is to be drawn of them.
    pub fn curves(&self, yarns: &Yarns, colour: Colour, dyes: Dyes) -> Vec<Yarn<'_>> {
        let mut drawn = Vec::new();
        for (curve, range) in yarns.ranges() {
            let torn = yarns.torn(curve);
            let loose = |i: usize| yarns.loose[i] > 0;
            let dye = if curve.warp { dyes.warp } else { dyes.weft };
            // Parts within which all segments are loose, or none is.
            let mut from = range.start;
            while from + 1 < range.end {
                let of = |i: usize| colour != Colour::Fabric && (loose(i) || loose(i + 1));
                let mut to = from + 1;
                while to + 1 < range.end && of(to) == of(from) {
                    to += 1;
                }
                let fade = |at_end: bool, torn: bool| if at_end && torn { FADE * yarns.spacing } else { 0.0 };
                let level = if of(from) { srgb(0xc8553d) } else { srgb(0xd8d2c4) };
                if matches!(colour, Colour::Fabric | Colour::Levels) || of(from) {
                    drawn.push(Yarn {
                        points: &self.points[from..=to],
                        velocities: &self.velocities[from..=to],
                        radius: yarns.radius(),
                        colour: Some(if colour == Colour::Levels { level } else { dye }),
                        tip_fade: [fade(from == range.start, torn[0]), fade(to + 1 == range.end, torn[1])],
                    });
                }
                from = to;
            }
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ripstop_scene::cache::Curve;

    /// A weft of six crossings, torn after the fourth point, with the two points before the tear loose.
    fn yarns() -> Yarns {
        Yarns {
            spacing: 1.0,
            thickness: 0.1,
            crossings: [4, 6],
            curves: vec![Curve { warp: false, yarn: 2, first: 0, count: 4 }],
            points: (0..4).map(|i| [i as f32, 0.0, 0.0]).collect(),
            velocities: vec![[0.0; 3]; 4],
            loose: vec![0, 0, 2, 3],
            held: vec![false; 4],
            passed: Vec::new(),
        }
    }

    #[test]
    fn whole_and_loose_parts_are_told_apart_and_only_torn_ends_fade() {
        let (yarns, dyes) = (yarns(), Dyes { warp: Vec3::X, weft: Vec3::Y });
        let threads = Threads::of(&yarns);
        let [one] = &threads.curves(&yarns, Colour::Fabric, dyes)[..] else { panic!("one curve") };
        assert_eq!((one.points.len(), one.colour, one.tip_fade), (4, Some(Vec3::Y), [0.0, FADE]));
        let [whole, loose] = &threads.curves(&yarns, Colour::Levels, dyes)[..] else { panic!("two parts") };
        assert_eq!((whole.points.len(), loose.points.len()), (2, 3));
        assert_eq!((whole.tip_fade, loose.tip_fade), ([0.0; 2], [0.0, FADE]));
        assert!(whole.colour != loose.colour);
        let [only] = &threads.curves(&yarns, Colour::Strain, dyes)[..] else { panic!("the loose part") };
        assert_eq!(only.points, loose.points);
    }
}
