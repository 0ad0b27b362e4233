//! Tearing: fields → criterion → requests → one resolver → changes.

mod coarsen;
mod coherence;
pub(crate) mod event;
mod fields;
mod noise;
mod refine;
mod resistance;
pub mod seam;
mod tip;

pub use coherence::Coherence;
pub use event::{Cause, Event, SeamReason};
pub use fields::Fields;
pub use noise::Noise;
pub use refine::Refine;
pub use resistance::{Hem, Resistance, StrengthMap};
pub use seam::{Seam, Seams, Unpick};
pub(crate) use tip::heading;
pub use tip::{Tip, Tips};

use crate::cloth::{Cloth, Touched};
use crate::criterion::{Criterion, View, pull_at};
use crate::math::Vec2;
use crate::opening::{Opening, cut_around, open_path};
use crate::potential::{Bond, Forces};
use coarsen::Coarse;
use coherence::{Budget, Crumb};
use ripstop_mesh::{Change, ChangeLog, EdgeId, Id, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Where and how cloth is pulled apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Where.
    pub node: NodeId,
    /// Direction of the pull (unit, material); the tear runs across it.
    pub pull: Vec2,
    /// Load over resistance ω.
    pub ratio: f64,
}

/// What a criterion or a tool may ask for.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// The load passes the resistance at a node.
    Part(Part),
    /// Open the cloth along a line on the material [m], whatever the load.
    Along {
        /// Points of the line.
        path: Vec<Vec2>,
    },
}

impl Request {
    /// Load over resistance; infinite for a tear by hand.
    pub fn ratio(&self) -> f64 {
        match self {
            Self::Part(part) => part.ratio,
            Self::Along { .. } => f64::INFINITY,
        }
    }

    /// Sorts by ratio, largest first, then by place: a total order, so results don't depend on who asked first.
    fn order(&self, other: &Self) -> std::cmp::Ordering {
        let place = |r: &Self| match r {
            Self::Part(Part { node, pull, .. }) => (node.0, pull.x.to_bits(), pull.y.to_bits()),
            Self::Along { .. } => (0, 0, 0),
        };
        other.ratio().total_cmp(&self.ratio()).then(place(self).cmp(&place(other)))
    }
}

/// When within a step tears happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Policy {
    /// At the end of the step, in at most so many rounds of measuring and tearing.
    EndOfStep {
        /// Rounds.
        rounds: u32,
    },
    /// At the instant of the first tear, one at a time, at most so many per step: the step goes back to where it passed ω = 1
    /// and on from there (Phillips 2008 eq. 31, with the ratio interpolated between the ends of the step instead of
    /// taken as zero at its beginning).
    FirstTear {
        /// Tears per step.
        limit: u32,
    },
}

impl Default for Policy {
    fn default() -> Self {
        Self::FirstTear { limit: 8 }
    }
}

/// The pull of a bond over what the cloth carried there: what is more would have to be overcome once more, and single bonds would be much stronger than those beside them. With 0.8 the load of a slit strip went on rising
/// by 4 to 7 % after the tear had begun, and loads of tongues had peaks of 1.3 times their mean behind short edges; with 0.5 by 1 %, and 1.17 times.
const SHARE: f64 = 0.5;
/// The least pull of a bond, in what tearing costs per length: on a coarse mesh weaker ones would hold over too long a way.
const LEAST_PULL: f64 = 0.3;
/// How wide lips are apart at most when a bond ends [m], where edges are short enough for it: the zone in which yarns give way is then the same on every mesh, and as edges get shorter
/// more of them share the load, which saws less. Found by trying on trousers; what real cloth has there wasn't measured.
const WIDTH: f64 = 0.03;

/// A tear or cut made by hand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HandTear {
    /// When [s].
    pub time: f64,
    /// Line on the material [m].
    pub path: Vec<Vec2>,
}

/// What was asked while requests were collected.
#[derive(Default)]
struct Asked {
    /// What would open, and what wouldn't.
    opens: Vec<(Part, bool)>,
    /// What wouldn't since it would crumble.
    crumbs: Vec<Crumb>,
}

/// How a cloth tears: one criterion, one opening, one resistance.
pub struct Tearing {
    /// When and where.
    pub criterion: Box<dyn Criterion>,
    /// What the mesh does.
    pub opening: Box<dyn Opening>,
    /// What strength is multiplied by.
    pub resistance: Resistance,
    /// When within a step.
    pub policy: Policy,
    /// How often, how soon again, how small.
    pub coherence: Coherence,
    /// How fine cloth becomes where it tears, and coarse again behind; left as it is if none.
    pub refine: Option<Refine>,
    /// What cloth that is to be coarse again was.
    coarse: Option<Coarse>,
    /// Tips around which it is fine, as long as nothing there is edited, in order.
    fine: Vec<NodeId>,
    pub(crate) fields: Fields,
    pub(crate) requests: Vec<Request>,
    budget: Budget,
    /// What doesn't open since it would crumble.
    crumbs: Vec<Crumb>,
    /// Rounds of measuring in this step.
    round: u32,
    /// What has opened since the cloth last followed, what that costs [J], and where its changes are in the log.
    opened: Vec<(Part, Option<f64>, Range<usize>)>,
}

impl Tearing {
    /// Tears by this criterion and opening, with the same resistance everywhere.
    pub fn new(criterion: impl Criterion + 'static, opening: impl Opening + 'static) -> Self {
        Self::boxed(Box::new(criterion), Box::new(opening))
    }

    /// The same for parts chosen at run time.
    pub fn boxed(criterion: Box<dyn Criterion>, opening: Box<dyn Opening>) -> Self {
        Self {
            criterion,
            opening,
            resistance: Resistance::default(),
            policy: Policy::default(),
            coherence: Coherence::default(),
            refine: None,
            coarse: None,
            fine: Vec::new(),
            fields: Fields::default(),
            requests: Vec::new(),
            budget: Budget::default(),
            crumbs: Vec::new(),
            round: 0,
            opened: Vec::new(),
        }
    }

    /// Is to tear this cloth, as it is at the start.
    pub(crate) fn begin_with(&mut self, cloth: &Cloth) {
        self.coarse = self.refine.map(|_| Coarse::of(cloth));
        self.follow(cloth, &Touched::default());
    }

    /// A step of `h` [s] begins.
    pub(crate) fn begin(&mut self, h: f64) {
        self.budget.begin(&self.coherence, h);
        self.round = 0;
    }

    /// What a checkpoint keeps: openings that are allowed by now.
    pub(crate) fn allowance(&self) -> f64 {
        self.budget.allowance
    }

    /// Goes on from a checkpoint.
    pub(crate) fn restore(&mut self, allowance: f64) {
        self.budget.allowance = allowance;
    }

    /// Brings all tables up to date with the cloth.
    pub(crate) fn follow(&mut self, cloth: &Cloth, touched: &Touched) {
        self.fields.follow(cloth, touched);
        self.resistance.follow(cloth, touched);
        self.criterion.follow(cloth, touched);
        coherence::retain_unedited(&mut self.crumbs, &cloth.mesh, &touched.faces);
        if let Some(refine) = self.refine {
            refine.retain_unedited(&cloth.mesh, &touched.nodes, &mut self.fine);
        }
    }

    /// Makes the cloth fine around tips.
    pub(crate) fn refine_tips(&mut self, cloth: &mut Cloth, log: &mut ChangeLog) {
        if let Some(refine) = self.refine {
            let mut tips: Vec<NodeId> = cloth.tips.iter().map(|tip| tip.node).collect();
            let new: Vec<NodeId> = tips.iter().copied().filter(|n| self.fine.binary_search(n).is_err()).collect();
            refine.around(&mut cloth.mesh, &new, log);
            tips.sort_unstable();
            self.fine = tips;
        }
    }

    /// Takes away what was made fine and isn't needed any more, in the step with this number, of `h` [s]; what is `kept` stays. The cloth has followed that.
    pub(crate) fn coarsen(
        &self,
        cloth: &mut Cloth,
        (step, h): (u64, f64),
        kept: impl Iterator<Item = NodeId>,
        log: &mut ChangeLog,
    ) {
        let Some((refine, coarse)) = self.refine.zip(self.coarse).filter(|_| Refine::is_due(step)) else { return };
        let mut kept: Vec<NodeId> = kept.collect();
        kept.sort_unstable();
        refine.coarsen(coarse, cloth, &kept, h, log);
    }

    /// Makes the cloth fine where it is about to part; what was asked for is to be asked for again then. Returns whether it wasn't.
    pub(crate) fn refine_asked(&mut self, cloth: &mut Cloth, log: &mut ChangeLog) -> bool {
        let Some(refine) = self.refine else { return false };
        let node = |request: &Request| if let Request::Part(part) = request { Some(part.node) } else { None };
        let mut refined = false;
        for n in self.requests.iter().filter_map(node) {
            if refine.around(&mut cloth.mesh, &[n], log) {
                refined = true;
                if !cloth.weak[n] && !cloth.asked.iter().any(|(asked, _)| *asked == n) {
                    cloth.asked.push((n, cloth.parted_at[n]));
                }
            }
        }
        // Nothing has torn in this round.
        self.round -= u32::from(refined);
        refined
    }

    /// Measures the fields at `time` [s] and collects the requests that may be met, most urgent first.
    pub(crate) fn measure(&mut self, cloth: &Cloth, forces: &Forces, time: f64) {
        self.fields.measure(cloth, forces, self.criterion.wants_stress(), self.round > 0);
        self.requests.clear();
        if !self.budget.is_left(&self.coherence) {
            return;
        }
        let Self { criterion, opening, resistance, coherence, fields, requests, crumbs, round, .. } = self;
        // Criteria ask before they answer, and trying on a copy of the cloth is dear.
        let asked: Mutex<Asked> = Mutex::default();
        let answers = || asked.lock().unwrap_or_else(PoisonError::into_inner);
        let opens = |part: &Part| {
            let known = answers().opens.iter().find(|(known, _)| known == part).map(|(_, opens)| *opens);
            if let Some(opens) = known {
                return opens;
            }
            let sewn = !resistance.seam_at(part.node, part.pull).is_empty();
            let may = || {
                let mut known = crumbs.iter().filter(|crumb| crumb.node == part.node && crumb.pull == part.pull);
                if known.any(|crumb| crumb.choice == opening.choice(cloth, part))
                    || resistance.is_whole(part.node)
                    || !opening.can_open(cloth, part)
                {
                    return false;
                }
                let crumb = coherence.crumbles(cloth, part, &**opening);
                let whole = crumb.is_none();
                answers().crumbs.extend(crumb.filter(|crumb| crumb.choice.is_some()));
                whole
            };
            let opens = coherence.rested(cloth, part.node, time) && (sewn || may());
            answers().opens.push((*part, opens));
            opens
        };
        let view = View { cloth, fields, resistance, forces, round: *round, opens: &opens };
        criterion.find(view, requests);
        requests.retain(|request| match request {
            Request::Part(part) => opens(part),
            Request::Along { .. } => true,
        });
        *round += 1;
        requests.sort_by(Request::order);
        if !requests.is_empty() {
            fields.keep_places(cloth);
        }
        crumbs.append(&mut asked.into_inner().unwrap_or_else(PoisonError::into_inner).crumbs);
    }

    /// For every request the share of the step, from the state `cloth` in which it began, at which its ratio passes one;
    /// keeps only the earliest request and returns its share.
    pub(crate) fn keep_earliest(&mut self, cloth: &Cloth, forces: &Forces) -> f64 {
        self.fields.measure(cloth, forces, self.criterion.wants_stress(), false);
        let view =
            View { cloth, fields: &self.fields, resistance: &self.resistance, forces, round: 0, opens: &|_| true };
        let share = |request: &Request| {
            let (start, end) = (self.criterion.ratio(view, request), request.ratio());
            if start >= 1.0 { 0.0 } else { ((1.0 - start) / (end - start)).clamp(0.0, 1.0) }
        };
        let shares: Vec<f64> = self.requests.iter().map(share).collect();
        // The first of equals is the most urgent, since requests are sorted.
        let earliest = (0..shares.len()).min_by(|&a, &b| shares[a].total_cmp(&shares[b]));
        let Some(earliest) = earliest else { return 1.0 };
        self.requests.swap(0, earliest);
        self.requests.truncate(1);
        shares[earliest]
    }

    /// Carries out the requests that don't touch each other, and says how many, and how many of them began a tear inside whole cloth; the others are asked for
    /// again when measured anew.
    pub(crate) fn resolve(
        &mut self,
        cloth: &mut Cloth,
        forces: &Forces,
        log: &mut ChangeLog,
        events: &mut Vec<Event>,
    ) -> (u64, u64) {
        let mut busy: HashSet<NodeId> = HashSet::new();
        let mut begun = 0;
        for request in &self.requests {
            let Request::Part(part) = request else { continue };
            let around = |n: NodeId| crate::criterion::star(&cloth.mesh, n).flat_map(|(e, _)| cloth.mesh.edge_nodes(e));
            // A node that is new has been made by another request of this round.
            let taken = |n: NodeId| n.index() >= cloth.x.len() || busy.contains(&n);
            if !self.budget.is_left(&self.coherence) || around(part.node).any(taken) {
                continue;
            }
            busy.extend(around(part.node));
            self.budget.spend();
            begun += u64::from(!cloth.mesh.is_border_node(part.node));
            let from = log.len();
            let seam = self.resistance.seam_at(part.node, part.pull);
            let mut cause = Cause::Load { criterion: self.criterion.name() };
            if let Some(seam) = seam.first().and_then(|&e| cloth.seams.of(e)) {
                cause = Cause::Seam { seam, reason: SeamReason::Load };
            }
            for &e in &seam {
                cloth.mesh.open_edge(e, log);
            }
            let mut energy = None;
            if seam.is_empty() {
                self.opening.open(cloth, part, log);
                let (fields, resistance, round) = (&self.fields, &self.resistance, self.round);
                let view = View { cloth, fields, resistance, forces, round, opens: &|_| true };
                energy = spent(view, &*self.criterion, part, &log[from..]);
                debug_assert!(!opens_untearable(cloth, &log[from..]), "`{}` opens what is whole", self.opening.name());
            }
            self.opened.push((*part, energy, from..log.len()));
            event::describe(cloth, &log[from..], cause, request, events);
        }
        (self.opened.len() as u64, begun)
    }

    /// Lets the opening move what has just parted in `log`, which the cloth has followed.
    pub(crate) fn ease(&mut self, cloth: &mut Cloth, log: &[Change]) {
        for (part, _, range) in &self.opened {
            self.opening.ease(cloth, part, &log[range.clone()]);
        }
    }

    /// Puts bonds between what has just parted in `log`, which cloth and forces have followed. Returns the nodes that have one.
    pub(crate) fn hold(&mut self, cloth: &mut Cloth, forces: &Forces, log: &[Change]) -> Vec<NodeId> {
        let mut held = Vec::new();
        for (_, energy, range) in self.opened.drain(..) {
            let Some(energy) = energy else { continue };
            let length: f64 = opened_edges(&log[range.clone()]).map(|edge| cloth.mesh.edge_length(edge)).sum();
            let cost = energy / length;
            let parted = log[range.clone()].iter().filter_map(|change| match *change {
                Change::NodeSplit { node, copy } => Some((node, copy)),
                _ => None,
            });
            let parted: Vec<(NodeId, NodeId)> = parted.collect();
            for &(node, copy) in &parted {
                let pull = SHARE * 0.5 * pull_at(cloth, forces, node).distance(pull_at(cloth, forces, copy));
                let length = length / parted.len() as f64;
                let least = (LEAST_PULL * cost).min(2.0 * cost * length / WIDTH);
                cloth.bonds.add(Bond::new(copy, node, pull.max(least), (cost, length)));
                held.push(copy);
            }
        }
        held.sort_unstable();
        held
    }
}

/// The edges that these edits opened.
fn opened_edges(log: &[Change]) -> impl Iterator<Item = EdgeId> {
    log.iter().filter_map(|change| match *change {
        Change::EdgeOpened { edge, .. } => Some(edge),
        _ => None,
    })
}

/// What the edges that these edits opened cost [J], if tearing costs anything.
fn spent(view: View<'_>, criterion: &dyn Criterion, part: &Part, log: &[Change]) -> Option<f64> {
    let mesh = &view.cloth.mesh;
    let cost = |edge: EdgeId| {
        let [a, b] = mesh.edge_nodes(edge).map(|n| mesh.node_uv(n));
        Some(criterion.spends(view, part, a, b - a)? * mesh.edge_length(edge))
    };
    opened_edges(log).map(cost).sum()
}

/// True if an edge that these edits opened ends in a node that never parts. Openings stay among a node and its neighbours, and
/// neighbours of such a node don't part (see [`Resistance`]), so there is none.
fn opens_untearable(cloth: &Cloth, log: &[Change]) -> bool {
    let untearable = |n: NodeId| cloth.untearable.get(n.index()).is_some_and(|kept| *kept);
    opened_edges(log).any(|edge| cloth.mesh.edge_nodes(edge).into_iter().any(untearable))
}

/// Carries out a tear by hand.
pub(crate) fn tear_by_hand(cloth: &mut Cloth, hand: &HandTear, log: &mut ChangeLog, events: &mut Vec<Event>) {
    let request = Request::Along { path: hand.path.clone() };
    let from = log.len();
    open_path(&mut cloth.mesh, &hand.path, log);
    event::describe(cloth, &log[from..], Cause::Hand, &request, events);
}

/// Carries out an exact cut, making no edge shorter than `finest` [m] and sliding no node that is `fixed`. The cloth must have followed all edits.
pub(crate) fn cut_along(
    cloth: &mut Cloth,
    path: &[Vec2],
    (finest, fixed): (f64, &[NodeId]),
    cause: Cause,
    log: &mut ChangeLog,
    events: &mut Vec<Event>,
) {
    let from = log.len();
    cut_around(cloth, path, finest, fixed, log);
    event::describe(cloth, &log[from..], cause, &Request::Along { path: path.to_vec() }, events);
}
