//! A table with one row per id of a kind.

use crate::Id;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// One value per id: a `Vec` that only its own kind of id can index. Derefs to a slice for loops.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Column<I, T> {
    rows: Vec<T>,
    #[serde(skip)]
    kind: PhantomData<fn(I)>,
}

impl<I: Id, T> Column<I, T> {
    /// A column without rows.
    pub fn new() -> Self {
        Self::from_rows(Vec::new())
    }

    /// The column whose row `i` is `rows[i]`.
    pub fn from_rows(rows: Vec<T>) -> Self {
        Self { rows, kind: PhantomData }
    }

    /// Appends a row and returns its id.
    pub fn push(&mut self, value: T) -> I {
        self.rows.push(value);
        I::new(self.rows.len() - 1)
    }

    /// All ids that have a row.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = I> + use<I, T> {
        (0..self.rows.len()).map(I::new)
    }

    /// Grows to `len` rows, each made from its id; never shrinks. A large table takes no more memory than its rows.
    pub fn extend_to(&mut self, len: usize, make: impl Fn(I) -> T) {
        let known = self.rows.len();
        if known == 0 {
            self.rows.reserve_exact(len);
        }
        self.rows.extend((known..len).map(|i| make(I::new(i))));
    }

    /// Grows to `len` rows, filling with `value`; never shrinks.
    pub fn grow(&mut self, len: usize, value: T)
    where
        T: Clone,
    {
        if self.rows.len() < len {
            self.rows.resize(len, value);
        }
    }
}

impl<I: Id, T: Clone> Column<I, T> {
    /// `len` rows of the same value.
    pub fn filled(len: usize, value: T) -> Self {
        Self::from_rows(vec![value; len])
    }
}

impl<I: Id, T> Default for Column<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I: Id, T> Index<I> for Column<I, T> {
    type Output = T;
    #[inline]
    fn index(&self, id: I) -> &T {
        &self.rows[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Column<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.rows[id.index()]
    }
}

impl<I, T> Deref for Column<I, T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.rows
    }
}

impl<I, T> DerefMut for Column<I, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.rows
    }
}

impl<I, T: std::fmt::Debug> std::fmt::Debug for Column<I, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.rows.fmt(f)
    }
}
