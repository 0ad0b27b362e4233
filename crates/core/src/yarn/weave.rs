//! Weave patterns as data: at which crossings the warp is on top, and which yarns are stronger.
//!
//! A pattern is a small matrix that repeats over the cloth: row j of it belongs to wefts j, j + rows, …, column i to warps
//! i, i + columns, …; 1 where the warp lies over the weft. A yarn is held where it changes sides: of the four neighbours of
//! a crossing along its two yarns, those of the other kind bend the yarns around each other there. Their share is the
//! crossing's *grip*, the factor of its friction (less where neighbours don't hold any more): 1 in plain weave, ⅔ on average in twill 2/1, ½ in twill 2/2, 3/1 and basket, ⅖ in
//! satin 5. It is why floats fray.
//!
//! | name | rows | |
//! |---|---|---|
//! | plain | `10 01` | changes at every crossing |
//! | twill a/b | a times 1 and b times 0, each row shifted by one | diagonal ribs |
//! | satin 5 | `10000`, each row shifted by two | long floats, no ribs |
//! | basket 2×2 | `1100 1100 0011 0011` | plain weave of pairs |
//!
//! Source: Metaaphanon 2009 §3.1, §3.4 (the sign of eq. 2, and the propagation of splits, by pattern) and Fig. 7 (twill).
//! Deviation: friction by grip; the paper has no friction.

use serde::{Deserialize, Serialize};

/// Why a pattern can't be woven.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WeaveError {
    /// No rows, or rows without columns.
    #[error("the weave has no crossings; give at least one row with one 0 or 1")]
    Empty,
    /// Rows of different lengths.
    #[error("row {row} of the weave has {found} crossings, row 0 has {wanted}; make all rows of one length")]
    Ragged {
        /// First such row, from zero.
        row: usize,
        /// Its length.
        found: usize,
        /// Length of the first row.
        wanted: usize,
    },
    /// A number that is neither 0 nor 1.
    #[error(
        "row {row}, column {column} of the weave is {found}; write 1 where the warp is on top and 0 where the weft is"
    )]
    Number {
        /// Row, from zero.
        row: usize,
        /// Column, from zero.
        column: usize,
        /// What is there.
        found: u8,
    },
    /// A twill without floats on one side.
    #[error("a twill {over}/{under} has yarns on one side only; both numbers must be above zero")]
    Twill {
        /// Wefts that a warp passes over.
        over: usize,
        /// Wefts that it passes under.
        under: usize,
    },
    /// A yarn that never changes sides isn't woven in.
    #[error(
        "{kind} {number} of the weave never changes sides, so it would fall out; every row and every column needs a 0 and a 1"
    )]
    NotWoven {
        /// `row` or `column`.
        kind: &'static str,
        /// Which, from zero.
        number: usize,
    },
    /// A grid of stronger yarns that can't be.
    #[error("ripstop grid: {cause}; `every` counts yarns from 1, `factor` is above zero")]
    Ripstop {
        /// What is wrong.
        cause: String,
    },
}

/// A pattern that repeats over the cloth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weave {
    columns: usize,
    /// Row by row: true where the warp is on top.
    over: Vec<bool>,
}

impl Weave {
    /// A pattern from rows of 0 and 1, 1 where the warp is on top.
    pub fn new(rows: &[Vec<u8>]) -> Result<Self, WeaveError> {
        let columns = rows.first().map_or(0, Vec::len);
        if columns == 0 {
            return Err(WeaveError::Empty);
        }
        for (row, cells) in rows.iter().enumerate() {
            if cells.len() != columns {
                return Err(WeaveError::Ragged { row, found: cells.len(), wanted: columns });
            }
            if let Some(column) = cells.iter().position(|&cell| cell > 1) {
                return Err(WeaveError::Number { row, column, found: cells[column] });
            }
        }
        let weave = Self { columns, over: rows.iter().flatten().map(|&cell| cell == 1).collect() };
        let same = |mut cells: Vec<bool>| {
            cells.dedup();
            cells.len() == 1
        };
        for row in 0..rows.len() {
            if same((0..columns).map(|i| weave.warp_over(i, row)).collect()) {
                return Err(WeaveError::NotWoven { kind: "row", number: row });
            }
        }
        for column in 0..columns {
            if same((0..rows.len()).map(|j| weave.warp_over(column, j)).collect()) {
                return Err(WeaveError::NotWoven { kind: "column", number: column });
            }
        }
        Ok(weave)
    }

    /// Rows of a pattern of `size` × `size`, of which the first has `over` ones and each is the one before, shifted by `shift`.
    fn shifted(size: usize, over: usize, shift: usize) -> Self {
        let cells = (0..size * size).map(|k| (k % size + size * size - shift * (k / size)) % size < over);
        Self { columns: size, over: cells.collect() }
    }

    /// Over one, under one.
    pub fn plain() -> Self {
        Self::shifted(2, 1, 1)
    }

    /// Over `over`, under `under`, shifted by one from weft to weft: 2/1, 2/2, 3/1 and so on.
    pub fn twill(over: usize, under: usize) -> Result<Self, WeaveError> {
        match over > 0 && under > 0 {
            true => Ok(Self::shifted(over + under, over, 1)),
            false => Err(WeaveError::Twill { over, under }),
        }
    }

    /// Satin of five: over one, under four, shifted by two.
    pub fn satin5() -> Self {
        Self::shifted(5, 1, 2)
    }

    /// Plain weave of pairs of yarns.
    pub fn basket() -> Self {
        let cells = (0..16).map(|k| (k % 4 < 2) == (k / 4 < 2));
        Self { columns: 4, over: cells.collect() }
    }

    /// True if warp `i` is over weft `j`.
    pub fn warp_over(&self, i: usize, j: usize) -> bool {
        // Most weaves repeat after a power of two, which needs no division.
        let (wide, high) = (self.columns.is_power_of_two(), self.over.len().is_power_of_two());
        if wide && high {
            let i = i & (self.columns - 1);
            return self.over[(j << self.columns.trailing_zeros() & (self.over.len() - 1)) + i];
        }
        let rows = self.over.len() / self.columns;
        self.over[j % rows * self.columns + i % self.columns]
    }
}

/// Every n-th yarn stronger, in both directions: ripstop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ripstop {
    every: usize,
    factor: f64,
}

impl Ripstop {
    /// Yarns 0, `every`, 2 · `every`, … are stronger (and as much stiffer) by `factor`.
    pub fn new(every: usize, factor: f64) -> Result<Self, WeaveError> {
        if every == 0 {
            return Err(WeaveError::Ripstop { cause: "`every` is 0".into() });
        }
        if !(factor.is_finite() && factor > 0.0) {
            return Err(WeaveError::Ripstop { cause: format!("`factor` is {factor}") });
        }
        Ok(Self { every, factor })
    }

    /// Factor of yarn `number`.
    pub fn of(&self, number: usize) -> f64 {
        if number.is_multiple_of(self.every) { self.factor } else { 1.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn named_weaves_are_woven_and_satin_has_no_ribs() {
        let twill = |a, b| Weave::twill(a, b).unwrap();
        for weave in [Weave::plain(), twill(2, 1), twill(2, 2), twill(3, 1), Weave::satin5(), Weave::basket()] {
            let rows: Vec<Vec<u8>> =
                weave.over.chunks(weave.columns).map(|r| r.iter().map(|&o| o.into()).collect()).collect();
            assert_eq!(Weave::new(&rows).as_ref(), Ok(&weave));
        }
        // In a satin no two crossings with the warp on top touch, not even at corners.
        let satin = Weave::satin5();
        for (i, j) in (0..25).map(|k| (k % 5, k / 5)).filter(|&(i, j)| satin.warp_over(i, j)) {
            assert!(!satin.warp_over(i + 1, j + 1) && !satin.warp_over(i + 4, j + 1));
        }
    }

    #[test]
    fn bad_patterns_are_refused_with_their_place() {
        assert_eq!(Weave::new(&[]), Err(WeaveError::Empty));
        assert_eq!(Weave::new(&[vec![]]), Err(WeaveError::Empty));
        let ragged = Weave::new(&[vec![1, 0], vec![0]]);
        assert_eq!(ragged, Err(WeaveError::Ragged { row: 1, found: 1, wanted: 2 }));
        assert_eq!(Weave::new(&[vec![1, 7]]), Err(WeaveError::Number { row: 0, column: 1, found: 7 }));
        assert_eq!(Weave::new(&[vec![1, 0], vec![1, 1]]), Err(WeaveError::NotWoven { kind: "row", number: 1 }));
        let loose = Weave::new(&[vec![1, 0, 1], vec![1, 1, 0]]);
        assert_eq!(loose, Err(WeaveError::NotWoven { kind: "column", number: 0 }));
        assert!(Weave::twill(0, 2).is_err() && Ripstop::new(0, 2.0).is_err() && Ripstop::new(4, f64::NAN).is_err());
    }

    #[test]
    fn every_nth_yarn_is_stronger() {
        let grid = Ripstop::new(8, 2.5).unwrap();
        assert_eq!([0, 7, 8, 9, 16].map(|n| grid.of(n)), [2.5, 1.0, 2.5, 1.0, 2.5]);
    }
}
