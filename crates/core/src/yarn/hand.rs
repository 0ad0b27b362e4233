//! Cuts by hand: a line on the material cuts every yarn that it crosses, whatever its tension.
//!
//! A warp lies along v at u = i spacings, a weft along u at v = j spacings. Each is cut between the two crossings that the line passes between, at the middle; a line through a crossing cuts what begins
//! there. Crossings beside a cut may slide from then on, as after a break.

use super::state::{Family, Woven};
use crate::math::Vec2;

impl Woven {
    /// Cuts all yarns that the polyline `path` on the material [m] crosses. What lies beside the cloth cuts nothing. To be called between steps.
    pub fn cut_along(&mut self, path: &[Vec2]) {
        if path.iter().any(|p| !p.is_finite()) {
            return;
        }
        let spacing = self.spec.spacing;
        let mut loosen = Vec::new();
        for ends in path.windows(2) {
            let [a, b] = [ends[0] / spacing, ends[1] / spacing];
            for family in Family::BOTH {
                // Across the yarns and along them.
                let turned = |p: Vec2| if family == Family::Warp { p } else { Vec2::new(p.y, p.x) };
                let [a, b] = [turned(a), turned(b)];
                let (count, stride) = self.line(family);
                let (low, high) = (a.x.min(b.x).max(0.0), a.x.max(b.x).min(self.yarns(family) as f64));
                // The lower end is of this piece of the line, the upper one of the next.
                let first = low.ceil() as usize;
                for yarn in (first..self.yarns(family)).take_while(|&yarn| (yarn as f64) < high) {
                    let along = a.y + (b.y - a.y) * ((yarn as f64 - a.x) / (b.x - a.x));
                    if !(0.0..=(count - 1) as f64).contains(&along) {
                        continue;
                    }
                    let s = (along as usize).min(count - 2);
                    let c = self.crossing_of(family, yarn, s);
                    if self.live(family, c) {
                        let springs = self.springs(family);
                        self.cut(family, yarn, s, springs.tension[c] / springs.strength[c], true);
                        loosen.extend([c, c + stride]);
                    }
                }
            }
        }
        self.split(&loosen, self.loosened());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Bodies;
    use crate::cloth::Placement;
    use crate::yarn::{By, Spec};

    fn cloth() -> Woven {
        Woven::new(Spec::muslin(14, 11), Placement::default()).unwrap()
    }

    #[test]
    fn a_line_cuts_the_yarns_that_it_crosses_and_no_other() {
        let mut cloth = cloth();
        // From outside, level between wefts 4 and 5, up to between warps 8 and 9, then up between wefts 6 and 7.
        let path = [[-3.0, 4.4], [8.5, 4.4], [8.5, 6.5]].map(|p| Vec2::from(p) * cloth.spec.spacing);
        cloth.cut_along(&path);
        let cuts = cloth.take_events();
        let of = |family| cuts.iter().filter(move |cut| cut.family == family).map(|cut| (cut.yarn, cut.segment));
        assert_eq!(of(Family::Warp).collect::<Vec<_>>(), (0..=8).map(|i| (i, 4)).collect::<Vec<_>>());
        assert_eq!(of(Family::Weft).collect::<Vec<_>>(), [(5, 8), (6, 8)]);
        assert!(cuts.iter().all(|cut| cut.by_hand) && cloth.cut_count() == 11);
        // The same again, and beside the cloth: nothing is left to cut.
        cloth.cut_along(&path);
        cloth.cut_along(&[Vec2::new(-1.0, -1.0), Vec2::new(1.0, -1.0)]);
        cloth.cut_along(&[Vec2::NAN, Vec2::ZERO]);
        assert!(cloth.take_events().is_empty());
    }

    #[test]
    fn what_is_cut_all_across_falls() {
        let (mut cloth, mut bodies) = (cloth(), Bodies::default());
        let top: Vec<usize> = (0..14).map(|i| cloth.crossing(i, 10)).collect();
        cloth.hold("rail", &top, By::Keys(vec![]), None, &bodies);
        let spacing = cloth.spec.spacing;
        cloth.cut_along(&[Vec2::new(-1.0, 5.3) * spacing, Vec2::new(20.0, 6.1) * spacing]);
        assert_eq!(cloth.piece_sizes().len(), 2);
        for _ in 0..40 {
            cloth.step(&mut bodies).unwrap();
        }
        let low = |c: usize| cloth.position(Family::Weft, c).y;
        let (fallen, kept) = (low(cloth.crossing(7, 0)), low(cloth.crossing(7, 7)));
        // Half of g t² in a sixth of a second is 136 mm, less what air takes.
        assert!(fallen < -0.05 && kept > 6.0 * spacing, "{fallen} {kept}");
    }
}
