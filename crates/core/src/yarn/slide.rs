//! Crossings whose yarns slide: two yarns share one particle, and material of each flows through it when friction is overcome.
//!
//! A yarn is divided into *sections* by the crossings that hold it. At a sliding crossing the tensions of the section before and of the one after it may differ by
//! what the crossing sticks with. Beyond that the yarn flows from the slack section to the taut one, until they do no more:
//!
//! δ = (|T_after − T_before| − f) / (EA/L_before + EA/L_after),  L_slack ← L_slack − δ,  L_taut ← L_taut + δ
//!
//! | symbol | code | unit | meaning |
//! |---|---|---|---|
//! | T | `pull` | N s² | tension of the springs beside the crossing, times the square of the substep |
//! | f | `stick` | N s² | what the crossing sticks with, likewise: f₀ × its grip ([`super::weave`]) |
//! | L | `rest` | m | rest length of a section: the sum of its springs' |
//! | EA | `stiff` | N s² | tension per strain, likewise: stiffness times spacing, since a spring of another length is as much stiffer as it is shorter |
//! | δ | `by` | m | what flows |
//!
//! So warp and weft can't pass through each other at a crossing, whatever pulls at them, and a sliding crossing is solved as well, and in as large steps, as whole cloth. As two particles that
//! are brought together after yarns were solved ([`super::couple`]) they trembled: friction that goes on from substep to substep and normals that turn kept them in motion for ever, at 30 mm/s beside a tear.
//!
//! Two crossings never come nearer along a yarn than `packing`: yarns bunch, and then the yarn flows through all of a bunch at once, if it overcomes their frictions together. Where a yarn ends, what sticks out beyond its last crossing (`stub`, or a tail of free
//! particles) flows too, and once nothing is left the end has slipped out: the crossing is disconnected, and the particles of the new tail are spread evenly along it.
//!
//! Yarns go one after the other along each: a crossing sees what the one before it has done. Once per substep, after yarns were solved.
//!
//! Source: Cirio et al. 2014, "Yarn-level simulation of woven cloth", has crossings as nodes with sliding coordinates; here these are lengths, they have no mass, and friction is by force alone. Deviation from
//! Metaaphanon 2009 §3.3, where a couple is two particles T apart; that is [`super::Sliding::Frictionless`] and `all_yarn`.
//! Limits: friction doesn't grow with what presses the yarns together; mass doesn't flow.

use super::line::{Block, GROUP};
use super::state::{Family, Kind, Woven};
use super::tail::Tail;
use crate::parallel;
use std::ops::Range;

/// A yarn at a sliding crossing.
#[derive(Clone, Debug)]
pub(super) struct Slide {
    family: Family,
    crossing: u32,
    yarn: u32,
    /// Its place along the yarn.
    at: u32,
    /// Springs of the sections before and after it; none if the yarn ends there.
    sections: [Range<u32>; 2],
    /// Sections that no crossing holds at the other end.
    free: [bool; 2],
    /// What it sticks with [N s²].
    stick: f64,
    /// Stiffness times length [N s²].
    stiff: f64,
    /// Where along the yarn the crossing touches it [crossings], as in the state.
    along: f64,
    /// What sticks out beyond it if the yarn ends there [m], as in the state.
    stub: f64,
    /// The end has slipped out.
    out: bool,
}

impl Slide {
    pub fn crossing(&self) -> usize {
        self.crossing as usize
    }

    /// True if the yarn ends here: there is no section on this side.
    fn ends(&self, side: usize) -> bool {
        self.sections[side].is_empty()
    }

    /// True if what there is of the yarn on this side ends freely.
    fn is_loose(&self, side: usize) -> bool {
        self.ends(side) || self.free[side]
    }

    /// Tension of the spring on a side of it, times the square of the substep [N s²].
    #[inline(always)]
    fn pull(&self, block: &Block, lane: usize, side: usize) -> f64 {
        let spring = if side == 0 { self.at.wrapping_sub(1) } else { self.at };
        if self.ends(side) { 0.0 } else { f64::from(block.nodes[spring as usize].pull[lane]).max(0.0) }
    }

    fn section<'a>(&self, block: &'a mut Block, lane: usize, side: usize) -> Section<'a> {
        let Range { start, end } = self.sections[side];
        Section { block, lane, springs: start as usize..end as usize, stiff: self.stiff }
    }
}

/// Furthest that a yarn flows in a substep [spacings].
const FURTHEST: f64 = 0.25;

/// Share of the least length within which a section counts as that short.
const JAMMED: f64 = 1e-3;

/// A section of a yarn in its lane.
struct Section<'a> {
    block: &'a mut Block,
    lane: usize,
    springs: Range<usize>,
    /// Stiffness times length [N s²].
    stiff: f64,
}

impl Section<'_> {
    /// Its rest length [m].
    #[inline(always)]
    fn length(&self) -> f64 {
        self.springs.clone().map(|s| self.block.rest[s][self.lane]).sum()
    }

    /// Its shortest rest length, if that of a spring is `least` [m].
    #[inline(always)]
    fn least(&self, least: f64) -> f64 {
        least * self.springs.len() as f64
    }

    /// Gives a spring another length.
    #[inline(always)]
    fn set(&mut self, s: usize, rest: f64) {
        self.block.rest[s][self.lane] = rest;
        let node = &mut self.block.nodes[s];
        (node.rest[self.lane], node.soft[self.lane]) = (rest as f32, (rest / self.stiff) as f32);
    }

    /// Gives it another length, and its springs the tension that goes with it.
    #[inline(always)]
    fn stretch(&mut self, factor: f64, pull: f64) {
        for s in self.springs.clone() {
            self.set(s, self.block.rest[s][self.lane] * factor);
            self.block.nodes[s].pull[self.lane] += pull as f32;
        }
    }

    /// Draws a tail in by `by` [m], at most until all its springs are `least` long: as a yarn that is drawn along itself it gets shorter at its end, which is the last spring if `last`.
    /// What was drawn in [m].
    #[inline(always)]
    fn draw_in(&mut self, by: f64, least: f64, last: bool) -> f64 {
        let mut left = by;
        for k in 0..self.springs.len() {
            let s = if last { self.springs.end - 1 - k } else { self.springs.start + k };
            let rest = self.block.rest[s][self.lane];
            let part = left.min((rest - least).max(0.0));
            self.set(s, rest - part);
            left -= part;
            if left <= 0.0 {
                break;
            }
        }
        by - left
    }
}

/// How far yarns of a cloth flow.
#[derive(Clone, Copy)]
pub(super) struct Flow {
    /// From crossing to crossing, as woven [m].
    spacing: f64,
    /// Shortest spring [m].
    least: f64,
}

/// The yarns of a block flow through the crossings that they slide through.
pub(super) fn flow(slides: &mut [Slide], block: &mut Block, Flow { spacing, least }: Flow) {
    for i in 0..slides.len() {
        let slide = &slides[i];
        let lane = slide.yarn as usize % GROUP;
        let pulls = [slide.pull(block, lane, 0), slide.pull(block, lane, 1)];
        if slide.out || (pulls[1] - pulls[0]).abs() <= slide.stick {
            continue;
        }
        // From the slack section to the taut one.
        let (slack, taut) = if pulls[1] > pulls[0] { (0, 1) } else { (1, 0) };
        // Crossings that are as near to each other as they can be are passed together.
        let (mut last, mut stick) = (i, slide.stick);
        let from = loop {
            let passed = &slides[last];
            let section = passed.section(block, lane, slack);
            let jammed = !passed.is_loose(slack) && section.length() <= section.least(least) * (1.0 + JAMMED);
            if passed.out {
                break None;
            } else if !jammed {
                break Some(last);
            }
            let next = if slack == 0 { last.checked_sub(1) } else { Some(last + 1) };
            let joins = |next: &Slide| next.yarn == slide.yarn && next.sections[taut] == passed.sections[slack];
            match next.and_then(|next| slides.get(next).filter(|slide| joins(slide)).map(|slide| (next, slide.stick))) {
                Some((next, more)) => (last, stick) = (next, stick + more),
                None => break None,
            }
        };
        let Some(from) = from else { continue };
        let source = &slides[from];
        let more = pulls[taut] - source.pull(block, lane, slack) - stick;
        if more <= 0.0 {
            continue;
        }
        let long = slide.section(block, lane, taut).length();
        let short = source.section(block, lane, slack).length();
        let (loose, ends) = (source.is_loose(slack), source.ends(slack));
        // What ends freely has no tension to gain.
        let stiffness = [slide.stiff / long, if loose { 0.0 } else { slide.stiff / short }];
        let wanted = (more / (stiffness[0] + stiffness[1])).min(FURTHEST * spacing);
        let by = if ends {
            wanted.min(source.stub)
        } else if loose {
            source.section(block, lane, slack).draw_in(wanted, least, slack == 1)
        } else {
            let least = source.section(block, lane, slack).least(least);
            let by = wanted.min((short - least).max(0.0));
            source.section(block, lane, slack).stretch(1.0 - by / short, stiffness[1] * by);
            by
        };
        slide.section(block, lane, taut).stretch(1.0 + by / long, -stiffness[0] * by);
        let flow = by / spacing * if taut == 0 { 1.0 } else { -1.0 };
        for passed in &mut slides[i.min(from)..=i.max(from)] {
            passed.along += flow;
        }
        let source = &mut slides[from];
        source.stub -= if ends { by } else { 0.0 };
        source.out = loose && by < wanted && source.sections[slack].len() <= 1;
    }
}

impl Woven {
    /// Yarns of a family at sliding crossings, group by group and along each yarn, for a substep of `h` [s].
    pub(super) fn slides(&self, family: Family, h: f64) -> Vec<Vec<Slide>> {
        let (yarns, k) = (self.yarns(family), usize::from(family == Family::Weft));
        let (count, _) = self.line(family);
        let mut groups = vec![Vec::new(); yarns.div_ceil(GROUP)];
        parallel::for_each_chunk(&mut groups, 1, |g, slides| {
            for yarn in g * GROUP..((g + 1) * GROUP).min(yarns) {
                for at in 0..count {
                    let c = self.crossing_of(family, yarn, at);
                    if self.kind[c] != Kind::Sliding || self.held[c] != 0 {
                        continue;
                    }
                    let holds = |s: usize| self.kind[self.crossing_of(family, yarn, s)] != Kind::Disconnected;
                    let live = |s: usize| self.live(family, self.crossing_of(family, yarn, s));
                    let (mut low, mut high) = (at, at);
                    while low > 0 && live(low - 1) && (low == at || !holds(low)) {
                        low -= 1;
                    }
                    while high + 1 < count && live(high) && (high == at || !holds(high)) {
                        high += 1;
                    }
                    let spring = if high > at { c } else { self.crossing_of(family, yarn, at.saturating_sub(1)) };
                    slides[0].push(Slide {
                        family,
                        crossing: c as u32,
                        yarn: yarn as u32,
                        at: at as u32,
                        sections: [low as u32..at as u32, at as u32..high as u32],
                        free: [low < at && !holds(low), high > at && !holds(high)],
                        stick: self.friction(c) * h * h,
                        stiff: self.springs(family).stiffness[spring] * self.spec.spacing * h * h,
                        along: self.along[k][c],
                        stub: self.stub[k][c],
                        out: false,
                    });
                }
            }
        });
        groups
    }

    /// How far its yarns flow.
    pub(super) fn flow(&self) -> Flow {
        Flow { spacing: self.spec.spacing, least: self.spec.packing * self.spec.spacing }
    }

    /// Yarns flow through sliding crossings.
    #[cfg(test)]
    fn slide(&mut self) {
        let by = self.flow();
        let super::tables::Tables { warps, wefts, slides, .. } = &mut self.tables;
        for (slides, blocks) in slides.iter_mut().zip([warps, wefts]) {
            slides.iter_mut().zip(blocks).for_each(|(slides, block)| flow(slides, block, by));
        }
        self.take_slides();
    }

    /// What has flowed in a step, for the state.
    pub(super) fn take_slides(&mut self) {
        let Self { tables, along, stub, .. } = self;
        for ((slides, along), stub) in tables.slides.iter().zip(along).zip(stub) {
            for slide in slides.iter().flatten() {
                (along[slide.crossing()], stub[slide.crossing()]) = (slide.along, slide.stub);
            }
        }
    }

    /// Crossings that a yarn has slipped out of in this step, and which yarn.
    pub(super) fn slipped_out(&self) -> Vec<(usize, Family)> {
        let out = self.tables.slides.iter().flatten().flatten().filter(|slide| slide.out);
        out.map(|slide| (slide.crossing as usize, slide.family)).collect()
    }

    /// Ends of yarns beyond crossings that they slide through.
    pub(super) fn tails(&self) -> Vec<Tail> {
        let mut tails = Vec::new();
        for slide in self.tables.slides.iter().flatten().flatten() {
            for k in 0..2 {
                if slide.free[k] {
                    tails.extend(self.tail(slide.family, slide.yarn as usize, slide.at as usize, k == 1));
                }
            }
        }
        tails
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cloth::Placement;
    use crate::math::Vec3;
    use crate::yarn::{Sliding, Spec};

    const H: f64 = 4e-4;

    /// A cloth that slides at all crossings, with a friction of 1e-4 N, and tensions along weft 4 [N] from each crossing to the next; its last crossing is held.
    fn sliding(tensions: impl Fn(usize) -> f64) -> Woven {
        let mut spec = Spec::muslin(12, 9);
        spec.sliding = Sliding::Friction { force: 1e-4 };
        let mut cloth = Woven::new(spec, Placement::default()).unwrap();
        cloth.split(&(0..cloth.crossings()).collect::<Vec<_>>(), Kind::Sliding);
        for i in 0..11 {
            let c = cloth.crossing(i, 4);
            cloth.weft.pull[c] = tensions(i) * H * H;
        }
        let last = cloth.crossing(11, 4);
        cloth.held[last] = 1;
        cloth.follow(H);
        cloth
    }

    fn rest(cloth: &Woven) -> Vec<f64> {
        (0..11).map(|i| cloth.tables.wefts[0].rest[i][4]).collect()
    }

    fn pulls(cloth: &Woven) -> Vec<f64> {
        (0..11).map(|i| f64::from(cloth.tables.wefts[0].nodes[i].pull[4]) / (H * H)).collect()
    }

    #[test]
    fn a_yarn_flows_until_friction_holds_and_none_of_it_is_lost() {
        // Taut on the right, and so much that it flows through some crossings but not through all.
        let mut cloth = sliding(|i| if i < 6 { 0.0 } else { 4.5e-4 });
        let before: f64 = rest(&cloth).iter().sum();
        for _ in 0..200 {
            cloth.slide();
        }
        let (after, pulls) = (rest(&cloth), pulls(&cloth));
        assert!((after.iter().sum::<f64>() - before).abs() < 1e-15);
        let jumps: Vec<f64> = pulls.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(jumps.iter().all(|jump| *jump < 1e-4 * (1.0 + 1e-6)), "{jumps:?}");
        // Springs of the taut part are longer than they were, those from which it came shorter, and far away nothing has moved.
        assert!(after[6] > 1e-3 && after[5] < 1e-3 && after[1] == 1e-3, "{after:?}");
        // What has flowed through a crossing is what is missing on one side of it.
        let slip = cloth.along[1][cloth.crossing(6, 4)] - 6.0;
        let gone: f64 = after[..6].iter().map(|rest| 1e-3 - rest).sum();
        assert!((slip * -1e-3 - gone).abs() < 1e-15 && gone > 1e-6, "{slip} {gone}");
        // Other wefts and all warps stay as they were.
        assert!(cloth.tables.wefts[0].rest.iter().all(|lanes| lanes[3] == 1e-3));
        assert!(cloth.tables.warps.iter().flat_map(|block| block.rest.iter().flatten()).all(|rest| *rest == 1e-3));
    }

    #[test]
    fn what_sticks_less_than_it_is_pulled_with_stays() {
        let mut cloth = sliding(|i| 9e-5 * i as f64);
        let before = rest(&cloth);
        cloth.slide();
        assert_eq!(rest(&cloth), before);
    }

    #[test]
    fn bunches_are_passed_together_and_never_closer_than_packing() {
        let least = Spec::muslin(12, 9).packing * 1e-3;
        let mut cloth = sliding(|_| 0.0);
        for _ in 0..4000 {
            // A pull that never gives way.
            (6..11).for_each(|i| cloth.tables.wefts[0].nodes[i].pull[4] = (3.5e-4 * H * H) as f32);
            (0..6).for_each(|i| cloth.tables.wefts[0].nodes[i].pull[4] = 0.0);
            cloth.slide();
        }
        let after = rest(&cloth);
        assert!(after.iter().all(|rest| *rest > least * (1.0 - 1e-12)), "{after:?}");
        // Three crossings hold 3e-4 N, so three sections are as short as they can be, and no more than three.
        let short = after.iter().filter(|rest| **rest < least * 1.01).count();
        assert_eq!(short, 3, "{after:?}");
    }

    #[test]
    fn an_end_that_is_drawn_out_slips_out_and_is_spread() {
        let mut cloth = sliding(|_| 0.0);
        let total: f64 = rest(&cloth).iter().sum::<f64>() + cloth.stub[1][cloth.crossing(0, 4)];
        let (first, second) = (cloth.crossing(0, 4), cloth.crossing(1, 4));
        let mut out = Vec::new();
        for _ in 0..40 {
            cloth.tables.wefts[0].nodes[0].pull[4] = (5e-4 * H * H) as f32;
            cloth.slide();
            out = cloth.slipped_out();
            if !out.is_empty() {
                break;
            }
        }
        assert_eq!(out, [(first, Family::Weft)]);
        assert_eq!(cloth.stub[1][first], 0.0);
        cloth.take_tensions(1, H);
        cloth.split(&[first], Kind::Disconnected);
        cloth.slip_out(Family::Weft, first);
        assert_eq!((cloth.kind(first), cloth.kind(second)), (Kind::Disconnected, Kind::Sliding));
        let all = (0..11).map(|i| cloth.weft.rest[cloth.crossing(i, 4)]).sum::<f64>();
        // Splitting lengthens the spring as the crimp does.
        assert!((all - total).abs() < 2e-5, "{all} instead of {total}");
    }

    #[test]
    fn a_tail_that_is_drawn_in_gets_shorter_at_its_tip_and_slips_out_at_last() {
        let mut cloth = sliding(|_| 0.0);
        let tail: Vec<usize> = (0..4).map(|i| cloth.crossing(i, 4)).collect();
        cloth.split(&tail, Kind::Disconnected);
        cloth.follow(H);
        let (least, root) = (cloth.spec.packing * cloth.spec.spacing, cloth.crossing(4, 4));
        let live = |cloth: &Woven| (0..4).filter(|&i| cloth.live(Family::Weft, cloth.crossing(i, 4))).count();
        let total = |cloth: &Woven| -> f64 {
            let all = (0..11).map(|i| cloth.crossing(i, 4)).filter(|&c| cloth.live(Family::Weft, c));
            all.map(|c| cloth.weft.rest[c]).sum()
        };
        let before = total(&cloth);
        let mut lengths = vec![live(&cloth)];
        for _ in 0..400 {
            cloth.tables.wefts[0].nodes[4].pull[4] = (5e-4 * H * H) as f32;
            cloth.slide();
            cloth.take_tensions(1, H);
            for tail in cloth.tails() {
                cloth.recede(tail);
            }
            // Nothing is lost, and nothing is shorter than yarns are thick.
            assert!((total(&cloth) - before).abs() < 1e-15);
            let springs = (0..11).map(|i| cloth.crossing(i, 4)).filter(|&c| cloth.live(Family::Weft, c));
            assert!(springs.map(|c| cloth.weft.rest[c]).fold(1.0, f64::min) > 0.999 * least);
            lengths.push(live(&cloth));
            if cloth.slipped_out() == [(root, Family::Weft)] {
                break;
            }
            cloth.follow(H);
        }
        lengths.dedup();
        assert_eq!(lengths, [4, 3, 2, 1]);
        // The tip is where it was, and what is beyond it is dust.
        assert!(cloth.position(Family::Weft, tail[3]).distance(Vec3::new(0.0, 4e-3, 0.0)) < 2e-4);
        assert!((0..3).all(|i| cloth.is_dust(Family::Weft, tail[i]) && !cloth.is_dust(Family::Warp, tail[i])));
        assert_eq!(cloth.counts().torn_yarns, 0, "a yarn that is drawn in isn't torn");
        // It slips out, and the yarn that came through has as many springs as spacings again.
        cloth.split(&[root], Kind::Disconnected);
        cloth.slip_out(Family::Weft, root);
        cloth.follow(H);
        let long = cloth.weft.rest[root];
        assert!(long > 3.0 * cloth.spec.spacing, "{long}");
        for tail in cloth.tails() {
            cloth.divide(tail);
        }
        let many = (0..5).filter(|&i| cloth.live(Family::Weft, cloth.crossing(i, 4))).count();
        assert_eq!(many, (long / cloth.spec.spacing) as usize);
        let rest = cloth.weft.rest[root];
        assert!((rest - long / many as f64).abs() < 1e-15, "{rest}");
    }
}
