//! A tree of boxes over triangles that move: finds all that may come near each other.
//!
//! A node of the tree knows where its triangles begin, and by how much their corners move: two boxes. Whether two nodes may meet
//! is asked of their *relative* motion, so cloth that falls or swings as a whole is as cheap as cloth at rest.
//! Boxes are in single precision around a local origin and grown by what that rounds away: none is ever too small.
//!
//! The tree is refitted each time. Triangles that are made by edits join the leaf of a neighbour; it is built anew when they have become many or its boxes have grown too much.

use crate::parallel;
use glam::Vec3A;

/// Triangles in a leaf, at most, when the tree is built.
const LEAF: usize = 4;

/// Triangles of a pair of tree nodes that is work for one thread, at most: a fixed number, whoever does it.
const TASK: u32 = 16;

/// One of so many triangles is new when the tree is built anew.
const MANY: usize = 4;

/// Such pairs that are handed to a thread together.
const TOGETHER: usize = 32;

/// Where something begins and by how much it moves.
#[derive(Clone, Copy, Debug)]
pub struct Swept {
    pub(crate) low: Vec3A,
    pub(crate) high: Vec3A,
    /// Bounds of the displacement.
    pub(crate) least: Vec3A,
    pub(crate) most: Vec3A,
}

impl Swept {
    /// Bounds of nothing.
    pub const NONE: Self = Self {
        low: Vec3A::splat(f32::INFINITY),
        high: Vec3A::splat(f32::NEG_INFINITY),
        least: Vec3A::splat(f32::INFINITY),
        most: Vec3A::splat(f32::NEG_INFINITY),
    };

    /// Bounds of some corners, each with its displacement.
    #[inline(always)]
    pub fn of<const N: usize>(corners: [(Vec3A, Vec3A); N]) -> Self {
        let mut all = Self::NONE;
        for (x, u) in corners {
            all.low = all.low.min(x);
            all.high = all.high.max(x);
            all.least = all.least.min(u);
            all.most = all.most.max(u);
        }
        all
    }

    /// Bounds of both.
    #[inline(always)]
    pub fn with(self, other: &Self) -> Self {
        Self {
            low: self.low.min(other.low),
            high: self.high.max(other.high),
            least: self.least.min(other.least),
            most: self.most.max(other.most),
        }
    }

    /// True unless the two stay farther apart than `reach` in some direction all the time.
    #[inline(always)]
    pub fn may_meet(&self, other: &Self, reach: f32) -> bool {
        let reach = Vec3A::splat(reach);
        let forth = (self.most - other.least).max(Vec3A::ZERO) + reach;
        let back = (other.most - self.least).max(Vec3A::ZERO) + reach;
        ((self.high + forth).cmpge(other.low) & (other.high + back).cmpge(self.low)).all()
    }

    /// How far any two corners of the two go beside each other, at most.
    #[inline(always)]
    pub fn beside(&self, other: &Self) -> f32 {
        (self.most - other.least).abs().max((other.most - self.least).abs()).length()
    }

    /// How far the two are apart where they begin, at least.
    #[inline(always)]
    pub fn gap(&self, other: &Self) -> f32 {
        (self.low - other.high).max(other.low - self.high).max(Vec3A::ZERO).length()
    }

    /// The middle of where it begins.
    pub fn middle(&self) -> Vec3A {
        (self.low + self.high) * 0.5
    }

    fn size(&self) -> f32 {
        (self.high - self.low).length()
    }
}

/// Indices of a tree node's children, or its triangles.
#[derive(Clone, Copy, Debug)]
struct Branch {
    /// The node after this one and all below it; the first child is the next node.
    next: u32,
    /// First of its triangles in the order of the tree.
    first: u32,
    count: u32,
    /// All of its triangles are of the kind that don't count among themselves.
    mute: bool,
    /// None of them is.
    loud: bool,
}

/// The tree.
#[derive(Default)]
pub struct Tree {
    branches: Vec<Branch>,
    boxes: Vec<Swept>,
    /// Triangles in the order of the leaves.
    order: Vec<u32>,
    /// Boxes of triangles, in that order.
    leaves: Vec<Swept>,
    /// Sum of the sizes of all boxes when the tree was built.
    built_size: f32,
    /// How many triangles there were then, those that were left out included.
    built_count: usize,
    /// How many there are by now, likewise.
    count: usize,
    mute: u32,
    /// Branches that pairs are looked for of; all if empty.
    lively: Vec<bool>,
    tasks: Vec<(u32, u32)>,
    stacks: Vec<Vec<(u32, u32)>>,
}

impl Tree {
    /// Builds the tree anew for triangles with these middles. Pairs of triangles both of which are below `mute` don't count.
    pub fn build(&mut self, middles: &[Vec3A], mute: u32) {
        self.build_of(middles, mute, |_| true);
    }

    /// The same for those of them that are `there`.
    pub fn build_of(&mut self, middles: &[Vec3A], mute: u32, there: impl Fn(u32) -> bool) {
        self.mute = mute;
        self.count = middles.len();
        self.order.clear();
        self.order.extend((0..middles.len() as u32).filter(|&f| there(f)));
        self.branches.clear();
        let mut order = std::mem::take(&mut self.order);
        if !order.is_empty() {
            self.divide(&mut order, 0, middles);
        }
        self.order = order;
        self.built_size = 0.0;
        self.built_count = middles.len();
    }

    /// Takes up triangles behind those there are, up to `count`, each in the leaf of one that is `beside` it. False, and nothing is done, if the tree should be built anew instead.
    pub fn extend(&mut self, count: usize, beside: impl Fn(u32) -> Option<u32>) -> bool {
        let old = self.count;
        if count < old || self.built_count == 0 || count > self.built_count + self.built_count / MANY {
            return false;
        }
        // Those that were left out are in none.
        let mut leaf = vec![u32::MAX; count];
        for i in (0..self.branches.len()).filter(|&i| self.is_leaf(i)) {
            self.triangles(i as u32).iter().for_each(|&f| leaf[f as usize] = i as u32);
        }
        // How many join the leaves before each branch.
        let mut joining = vec![0; self.branches.len() + 1];
        for f in old..count {
            let Some(neighbour) = beside(f as u32).filter(|&g| g >= self.mute && (g as usize) < f) else {
                return false;
            };
            leaf[f] = leaf[neighbour as usize];
            if leaf[f] == u32::MAX {
                return false;
            }
            joining[leaf[f] as usize + 1] += 1;
        }
        for i in 0..self.branches.len() {
            joining[i + 1] += joining[i];
        }
        for (i, branch) in self.branches.iter_mut().enumerate() {
            let more = joining[branch.next as usize] - joining[i];
            branch.first += joining[i];
            branch.count += more;
            branch.mute &= more == 0;
        }
        self.order.resize(self.order.len() + count - old, 0);
        self.count = count;
        let mut free: Vec<u32> = self.branches.iter().map(|branch| branch.first).collect();
        for (f, leaf) in leaf.iter().enumerate().filter(|(_, leaf)| **leaf != u32::MAX) {
            let place = &mut free[*leaf as usize];
            self.order[*place as usize] = f as u32;
            *place += 1;
        }
        true
    }

    #[inline]
    fn is_leaf(&self, i: usize) -> bool {
        self.branches[i].next as usize == i + 1
    }

    /// Of each branch whether it has one of the triangles that are `marked`.
    pub fn marked(&self, marked: &[bool]) -> Vec<bool> {
        let mut of = vec![false; self.branches.len()];
        for i in (0..of.len()).rev() {
            of[i] = if self.is_leaf(i) {
                self.triangles(i as u32).iter().any(|&f| marked[f as usize])
            } else {
                of[i + 1] || of[self.branches[i + 1].next as usize]
            };
        }
        of
    }

    fn divide(&mut self, order: &mut [u32], first: usize, middles: &[Vec3A]) {
        let at = self.branches.len();
        let muted = order.iter().filter(|&&f| f < self.mute).count();
        let (mute, loud) = (muted == order.len(), muted == 0);
        self.branches.push(Branch { next: 0, first: first as u32, count: order.len() as u32, mute, loud });
        if order.len() > LEAF {
            let half = if mute || loud {
                let (low, high) = order.iter().fold((Vec3A::INFINITY, Vec3A::NEG_INFINITY), |(low, high), &f| {
                    (low.min(middles[f as usize]), high.max(middles[f as usize]))
                });
                let size = high - low;
                let axis = if size.x >= size.y && size.x >= size.z { 0 } else { 1 + usize::from(size.z > size.y) };
                let half = order.len() / 2;
                order.select_nth_unstable_by(half, |&a, &b| {
                    middles[a as usize][axis].total_cmp(&middles[b as usize][axis]).then(a.cmp(&b))
                });
                half
            } else {
                // The two kinds first.
                order.sort_unstable();
                muted
            };
            let (left, right) = order.split_at_mut(half);
            self.divide(left, first, middles);
            self.divide(right, first + half, middles);
        }
        self.branches[at].next = self.branches.len() as u32;
    }

    /// Gives all boxes the present sizes. False if the tree has become so bad that it should be built anew.
    pub fn refit(&mut self, triangle: impl Fn(u32) -> Swept + Sync) -> bool {
        self.lively.clear();
        let Self { order, leaves, .. } = self;
        leaves.resize(order.len(), Swept::NONE);
        crate::parallel::for_each(leaves, |i, leaf| *leaf = triangle(order[i]));
        self.boxes.resize(self.branches.len(), Swept::NONE);
        let mut size = 0.0;
        for i in (0..self.branches.len()).rev() {
            self.boxes[i] = self.boxed(i);
            size += self.boxes[i].size();
        }
        if self.built_size == 0.0 {
            self.built_size = size;
        }
        size <= 1.5 * self.built_size
    }

    /// The box of a tree node, from what is below it.
    #[inline]
    fn boxed(&self, i: usize) -> Swept {
        let Branch { first, count, .. } = self.branches[i];
        if self.is_leaf(i) {
            self.leaves[first as usize..][..count as usize].iter().fold(Swept::NONE, |all, leaf| all.with(leaf))
        } else {
            self.boxes[i + 1].with(&self.boxes[self.branches[i + 1].next as usize])
        }
    }

    /// Until it is refitted, only pairs of which at least one triangle is `lively` are looked for. Others have the boxes that they had.
    pub fn enliven(&mut self, lively: &[bool], triangle: impl Fn(u32) -> Swept) {
        self.lively = self.marked(lively);
        for i in (0..self.branches.len()).rev() {
            let Branch { first, count, .. } = self.branches[i];
            if !self.lively[i] {
                continue;
            }
            if self.is_leaf(i) {
                for at in first as usize..(first + count) as usize {
                    self.leaves[at] = triangle(self.order[at]);
                }
            }
            self.boxes[i] = self.boxed(i);
        }
    }

    #[inline]
    fn is_lively(&self, a: u32, b: u32) -> bool {
        self.lively.is_empty() || self.lively[a as usize] || self.lively[b as usize]
    }

    /// What `triangle` makes of all triangles below each tree node, joined by `join`: anew for those that are lively.
    pub fn gather<T: Copy>(&self, none: T, triangle: impl Fn(u32) -> T, join: impl Fn(T, T) -> T, out: &mut Vec<T>) {
        out.resize(self.branches.len(), none);
        for i in (0..self.branches.len()).rev() {
            if self.lively.get(i).is_some_and(|lively| !lively) {
                continue;
            }
            out[i] = if self.is_leaf(i) {
                self.triangles(i as u32).iter().fold(none, |all, &f| join(all, triangle(f)))
            } else {
                join(out[i + 1], out[self.branches[i + 1].next as usize])
            };
        }
    }

    /// Calls `take` for every pair of different triangles that may come as near as `reach`, each pair once; it adds what it
    /// makes of the pair to a list. Returns these lists, in an order that depends on the tree but not on the threads.
    /// Pairs of tree nodes with triangles that all count among themselves are left out if they are `calm`: it is given the two nodes and their triangles.
    pub fn pairs<T: Send>(
        &mut self,
        reach: f32,
        mut calm: impl FnMut((u32, u32), [&[u32]; 2]) -> bool,
        take: impl Fn(u32, u32, &Swept, &Swept, &mut Vec<T>) + Sync,
        lists: &mut Vec<Vec<T>>,
    ) {
        self.tasks.clear();
        if self.branches.is_empty() {
            lists.clear();
            return;
        }
        let (mut tasks, mut open) = (std::mem::take(&mut self.tasks), vec![(0, 0)]);
        while let Some((a, b)) = open.pop() {
            let (at, bt) = (&self.branches[a as usize], &self.branches[b as usize]);
            if !self.is_lively(a, b) || at.loud && bt.loud && calm((a, b), [a, b].map(|n| self.triangles(n))) {
                continue;
            }
            if at.count.max(bt.count) <= TASK || (self.is_leaf(a as usize) && self.is_leaf(b as usize)) {
                tasks.push((a, b));
            } else {
                self.widen(a, b, reach, &mut |pair| open.push(pair));
            }
        }
        self.tasks = tasks;
        let count = self.tasks.len().div_ceil(TOGETHER);
        lists.resize_with(count, Vec::new);
        self.stacks.resize_with(count, Vec::new);
        let mut stacks = std::mem::take(&mut self.stacks);
        let tree = &*self;
        parallel::for_each_domain(lists, 1, &mut stacks, |k, list, stack| {
            let list = &mut list[0];
            list.clear();
            stack.clear();
            stack.extend(tree.tasks.iter().skip(k * TOGETHER).take(TOGETHER));
            while let Some((a, b)) = stack.pop() {
                if !tree.widen(a, b, reach, &mut |pair| stack.push(pair)) {
                    stack.pop();
                    tree.meet(a, b, reach, &take, list);
                }
            }
        });
        self.stacks = stacks;
    }

    /// Hands on the triangles that may come as near to this as `reach`.
    pub fn near(&self, swept: &Swept, reach: f32, mut take: impl FnMut(u32)) {
        let mut node = 0;
        while node < self.branches.len() {
            let branch = &self.branches[node];
            if !self.boxes[node].may_meet(swept, reach) {
                node = branch.next as usize;
                continue;
            }
            if self.is_leaf(node) {
                let here = branch.first as usize..(branch.first + branch.count) as usize;
                here.filter(|&k| self.leaves[k].may_meet(swept, reach)).for_each(|k| take(self.order[k]));
            }
            node += 1;
        }
    }

    /// The triangles of a tree node.
    fn triangles(&self, node: u32) -> &[u32] {
        let Branch { first, count, .. } = self.branches[node as usize];
        &self.order[first as usize..][..count as usize]
    }

    /// Hands on the pairs of children of a pair of nodes that may meet; the pair itself, and false, if both are leaves.
    #[inline]
    fn widen(&self, a: u32, b: u32, reach: f32, push: &mut impl FnMut((u32, u32))) -> bool {
        let (at, bt) = (&self.branches[a as usize], &self.branches[b as usize]);
        if (at.mute && bt.mute) || !self.is_lively(a, b) {
            return true;
        }
        let (a_leaf, b_leaf) = (self.is_leaf(a as usize), self.is_leaf(b as usize));
        if a_leaf && b_leaf {
            push((a, b));
            return false;
        }
        if a == b {
            let second = self.branches[a as usize + 1].next;
            push((a + 1, a + 1));
            push((second, second));
            self.push_if(a + 1, second, reach, push);
        } else if b_leaf || (!a_leaf && at.count >= bt.count) {
            let second = self.branches[a as usize + 1].next;
            self.push_if(a + 1, b, reach, push);
            self.push_if(second, b, reach, push);
        } else {
            let second = self.branches[b as usize + 1].next;
            self.push_if(a, b + 1, reach, push);
            self.push_if(a, second, reach, push);
        }
        true
    }

    #[inline]
    fn push_if(&self, a: u32, b: u32, reach: f32, push: &mut impl FnMut((u32, u32))) {
        if self.boxes[a as usize].may_meet(&self.boxes[b as usize], reach) {
            push((a, b));
        }
    }

    /// The triangles of two leaves.
    #[inline]
    fn meet<T>(
        &self,
        a: u32,
        b: u32,
        reach: f32,
        take: &impl Fn(u32, u32, &Swept, &Swept, &mut Vec<T>),
        list: &mut Vec<T>,
    ) {
        let range = |n: u32| {
            let Branch { first, count, .. } = self.branches[n as usize];
            first as usize..(first + count) as usize
        };
        for i in range(a) {
            let others = if a == b { i + 1..range(a).end } else { range(b) };
            for j in others {
                let (f, g) = (self.order[i], self.order[j]);
                if (f >= self.mute || g >= self.mute) && self.leaves[i].may_meet(&self.leaves[j], reach) {
                    take(f, g, &self.leaves[i], &self.leaves[j], list);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::hash_unit;

    fn random(count: u32, moves: f32) -> Vec<[(Vec3A, Vec3A); 3]> {
        let number = |key: u32, k: u32| hash_unit(u64::from(key), u64::from(k)) as f32;
        let vector = |key: u32, k: u32| Vec3A::new(number(key, k), number(key, k + 1), number(key, k + 2));
        let corner = |f: u32, k: u32| (vector(f, 0) + vector(f, 3 + 6 * k) * 0.1, vector(f, 6 + 6 * k) * moves);
        (0..count).map(|f| std::array::from_fn(|k| corner(f, k as u32))).collect()
    }

    #[test]
    fn every_pair_that_may_meet_is_found_once() {
        for (count, moves, reach) in [(1, 0.1, 0.1), (5, 0.1, 0.1), (300, 0.05, 0.02), (300, 0.0, 0.0)] {
            let corners = random(count, moves);
            let boxes: Vec<Swept> = corners.iter().map(|&c| Swept::of(c)).collect();
            let middles: Vec<Vec3A> = corners.iter().map(|c| (c[0].0 + c[1].0 + c[2].0) / 3.0).collect();
            let mut tree = Tree::default();
            tree.build(&middles, 10);
            assert!(tree.refit(|f| boxes[f as usize]));
            let mut lists = Vec::new();
            tree.pairs(reach, |_, _| false, |a, b, _, _, list| list.push((a.min(b), a.max(b))), &mut lists);
            let mut found: Vec<(u32, u32)> = lists.concat();
            found.sort_unstable();
            let mut expected = Vec::new();
            for a in 0..count {
                for b in (a + 1).max(10)..count {
                    if boxes[a as usize].may_meet(&boxes[b as usize], reach) {
                        expected.push((a, b));
                    }
                }
            }
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn triangles_that_join_are_found_as_if_they_had_been_there() {
        let (old, count, reach) = (250u32, 300u32, 0.02);
        let corners = random(count, 0.05);
        let boxes: Vec<Swept> = corners.iter().map(|&c| Swept::of(c)).collect();
        let middles: Vec<Vec3A> = corners.iter().map(|c| (c[0].0 + c[1].0 + c[2].0) / 3.0).collect();
        let find = |tree: &mut Tree| {
            tree.refit(|f| boxes[f as usize]);
            let mut lists = Vec::new();
            tree.pairs(reach, |_, _| false, |a, b, _, _, list| list.push((a.min(b), a.max(b))), &mut lists);
            let mut found: Vec<(u32, u32)> = lists.concat();
            found.sort_unstable();
            found
        };
        let (mut whole, mut joined) = (Tree::default(), Tree::default());
        whole.build(&middles, 10);
        joined.build(&middles[..old as usize], 10);
        // Many beside one and the same, some beside others that have joined; twice.
        let beside = |f: u32| Some(if f.is_multiple_of(3) { f - 1 } else { 10 + f % 7 });
        assert!(joined.extend(270, beside) && joined.extend(count as usize, beside));
        assert_eq!(find(&mut joined), find(&mut whole));
        assert!(!joined.extend(count as usize + 1, |_| None), "no neighbour");
        assert!(!joined.extend(400, beside), "too many");
        assert!(!joined.extend(200, beside), "fewer");
    }

    #[test]
    fn common_motion_brings_nobody_nearer() {
        let still = Swept::of([(Vec3A::ZERO, Vec3A::ZERO), (Vec3A::X, Vec3A::ZERO)]);
        let apart = |u: Vec3A| Swept::of([(Vec3A::Y, u), (Vec3A::Y + Vec3A::X, u)]);
        let moved = |s: &Swept, u: Vec3A| Swept { least: s.least + u, most: s.most + u, ..*s };
        let far = Vec3A::new(3.0, -70.0, 5.0);
        assert!(!moved(&still, far).may_meet(&apart(far), 0.5));
        assert!(moved(&still, far).may_meet(&apart(far - Vec3A::Y), 0.0));
        assert!(!moved(&still, far).may_meet(&apart(far + Vec3A::Y), 0.0));
    }
}
