//! A set of ids: a bit for each that there may be.

use crate::Id;
use std::marker::PhantomData;

/// Some of the ids of a kind. Clearing and asking cost next to nothing as long as the mesh isn't huge: a bit for each of its elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marks<I> {
    words: Vec<u64>,
    kind: PhantomData<I>,
}

impl<I: Id> Marks<I> {
    /// None of so many.
    pub fn none(count: usize) -> Self {
        Self { words: vec![0; count.div_ceil(64)], kind: PhantomData }
    }

    /// These of so many.
    pub fn of(count: usize, ids: impl IntoIterator<Item = I>) -> Self {
        let mut marks = Self::none(count);
        ids.into_iter().for_each(|id| {
            marks.add(id);
        });
        marks
    }

    /// Adds one. True if it is new.
    #[inline]
    pub fn add(&mut self, id: I) -> bool {
        let (word, bit) = (&mut self.words[id.index() / 64], 1 << (id.index() % 64));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// True if it is one of them.
    #[inline]
    pub fn has(&self, id: I) -> bool {
        self.words[id.index() / 64] & (1 << (id.index() % 64)) != 0
    }

    /// All of them, in order.
    pub fn ids(&self) -> impl Iterator<Item = I> {
        self.words.iter().enumerate().flat_map(|(k, &(mut left))| {
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(I::new(64 * k + bit))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NodeId;

    #[test]
    fn what_is_added_is_there_once_and_in_order() {
        let mut marks = Marks::none(200);
        assert!(marks.ids().next().is_none());
        let added = [130, 5, 63, 64, 199, 5, 0].map(|n| marks.add(NodeId(n)));
        assert_eq!(added, [true, true, true, true, true, false, true]);
        assert_eq!(marks.ids().map(|n| n.0).collect::<Vec<_>>(), [0, 5, 63, 64, 130, 199]);
        assert!((0..200).all(|n| marks.has(NodeId(n)) == [0, 5, 63, 64, 130, 199].contains(&n)));
        assert_eq!(marks, Marks::of(200, [199, 130, 64, 63, 5, 0].map(NodeId)));
    }
}
