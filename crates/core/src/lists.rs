//! A list of numbers for every row of a table, one list after the other in memory, that follows changes of a few rows.
//!
//! A change copies the other lists as they are: a few dozen microseconds for ten thousand rows, and what comes out is what
//! lists made anew would be.

/// Lists of numbers.
#[derive(Clone, Debug)]
pub struct Lists {
    /// Row `i` has `item[start[i]..start[i + 1]]`.
    start: Vec<u32>,
    item: Vec<u32>,
    /// What both were before the last change: memory for the next.
    spare: (Vec<u32>, Vec<u32>),
}

impl Default for Lists {
    fn default() -> Self {
        Self { start: vec![0], item: Vec::new(), spare: Default::default() }
    }
}

/// Equal if they have the same rows.
impl PartialEq for Lists {
    fn eq(&self, other: &Self) -> bool {
        (&self.start, &self.item) == (&other.start, &other.item)
    }
}

impl Lists {
    /// Lists all (row, item) that `each` hands over, every list in the order in which they come. It is called twice, and must
    /// do the same both times. A counting sort.
    pub fn collect(count: usize, each: impl Fn(&mut dyn FnMut(usize, u32))) -> Self {
        let mut start = vec![0; count + 1];
        each(&mut |row, _| start[row + 1] += 1);
        for i in 0..count {
            start[i + 1] += start[i];
        }
        let mut item = vec![0; start[count] as usize];
        // Filling from the front moves each start to the next row's; shift them back afterwards.
        each(&mut |row, value| {
            item[start[row] as usize] = value;
            start[row] += 1;
        });
        start.rotate_right(1);
        start[0] = 0;
        Self { start, item, spare: Default::default() }
    }

    /// Makes `rows` anew, which are in order and include all rows from the present count up to `count`: `list` gets the number
    /// of a row and its old list, and appends the new one.
    pub fn follow(&mut self, count: usize, rows: &[u32], mut list: impl FnMut(usize, &[u32], &mut Vec<u32>)) {
        let (mut start, mut item) = std::mem::take(&mut self.spare);
        start.clear();
        item.clear();
        let old = self.row_count();
        let keep = |from: usize, to: usize, start: &mut Vec<u32>, item: &mut Vec<u32>| {
            let (from, to) = (from.min(old), to.min(old));
            let (begin, end, here) = (self.start[from], self.start[to], item.len() as u32);
            start.extend(self.start[from..to].iter().map(|s| s - begin + here));
            item.extend_from_slice(&self.item[begin as usize..end as usize]);
        };
        let mut next = 0;
        for i in rows.iter().map(|&i| i as usize) {
            keep(next, i, &mut start, &mut item);
            start.push(item.len() as u32);
            list(i, if i < old { self.row(i) } else { &[] }, &mut item);
            next = i + 1;
        }
        keep(next, count, &mut start, &mut item);
        start.push(item.len() as u32);
        self.spare = (std::mem::replace(&mut self.start, start), std::mem::replace(&mut self.item, item));
    }

    /// How many rows there are.
    pub fn row_count(&self) -> usize {
        self.start.len() - 1
    }

    /// How many numbers all lists have.
    pub fn item_count(&self) -> usize {
        self.item.len()
    }

    /// Where every list begins among all numbers, and where the last one ends.
    pub fn starts(&self) -> &[u32] {
        &self.start
    }

    /// Where the list of a row is among all numbers.
    #[inline]
    pub fn range(&self, i: usize) -> std::ops::Range<usize> {
        self.start[i] as usize..self.start[i + 1] as usize
    }

    /// The list of a row.
    #[inline]
    pub fn row(&self, i: usize) -> &[u32] {
        &self.item[self.range(i)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_that_follow_are_lists_made_anew() {
        let pairs = [(2, 7), (0, 1), (2, 3), (4, 9), (0, 5)];
        let whole = Lists::collect(5, |put| pairs.iter().for_each(|&(row, item)| put(row, item)));
        assert_eq!([0, 1, 2, 3, 4].map(|i| whole.row(i).to_vec()), [vec![1, 5], vec![], vec![7, 3], vec![], vec![9]]);
        let mut grown =
            Lists::collect(3, |put| [(0, 1), (1, 4), (2, 7)].iter().for_each(|&(row, item)| put(row, item)));
        grown.follow(5, &[0, 1, 3, 4], |i, old, list| {
            assert_eq!(old, [&[1][..], &[4], &[7], &[], &[]][i]);
            list.extend_from_slice(whole.row(i));
        });
        grown.follow(5, &[2], |_, old, list| list.extend(old.iter().copied().chain([3])));
        assert_eq!(grown, whole);
        assert_eq!((grown.item_count(), grown.range(4)), (5, 4..5));
        let mut none = Lists::default();
        none.follow(0, &[], |_, _, _| {});
        assert_eq!(none.row_count(), 0);
    }
}
