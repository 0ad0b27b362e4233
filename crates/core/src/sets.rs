//! Things that belong together: sets of numbers that are joined, never parted.

/// Which of the numbers 0 … n − 1 belong together. A set goes by the smallest of its numbers.
#[derive(Clone, Debug, Default)]
pub struct Sets(Vec<u32>);

impl Sets {
    /// So many numbers, each by itself.
    pub fn new(count: usize) -> Self {
        Self((0..count as u32).collect())
    }

    /// How many numbers there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The smallest number of the set of `i`.
    pub fn root(&mut self, mut i: u32) -> u32 {
        while self.0[i as usize] != i {
            let above = self.0[self.0[i as usize] as usize];
            self.0[i as usize] = above;
            i = above;
        }
        i
    }

    /// Joins two sets; returns the smallest number of both.
    pub fn join(&mut self, a: u32, b: u32) -> u32 {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b) as usize] = a.min(b);
        a.min(b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_numbers_have_the_smallest_of_them_in_common() {
        let mut sets = Sets::new(7);
        for [a, b] in [[5, 6], [2, 5], [6, 4], [3, 3]] {
            sets.join(a, b);
        }
        assert_eq!((0..7).map(|i| sets.root(i)).collect::<Vec<_>>(), [0, 1, 2, 3, 2, 2, 2]);
    }
}
