//! Typed indices: a node can't be mistaken for a face.

use serde::{Deserialize, Serialize};

/// What all ids share: a dense index from zero.
pub trait Id: Copy + Eq + Ord + std::hash::Hash + std::fmt::Debug + Send + Sync + 'static {
    /// The id with this index. Meshes are bounded by `u32` (4·10⁹ elements).
    fn new(index: usize) -> Self;
    /// Position in a [`Column`](crate::Column) of this id.
    fn index(self) -> usize;
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub struct $name(pub u32);

        impl Id for $name {
            #[inline]
            fn new(index: usize) -> Self {
                debug_assert!(index < u32::MAX as usize);
                Self(index as u32)
            }
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.0)
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "{}", self.0)
            }
        }
    };
}

id!(
    /// A point with mass, shared by the corners of one fan of faces.
    NodeId
);
id!(
    /// A triangle.
    FaceId
);
id!(
    /// An undirected edge: two half-edges inside the cloth, one on its border.
    EdgeId
);
id!(
    /// A node within a face, and at once the half-edge from it to the next corner's node.
    CornerId
);

impl CornerId {
    pub(crate) const NONE: Self = Self(u32::MAX);

    /// The corner after this one in its face.
    #[inline]
    pub fn next(self) -> Self {
        Self(if self.0 % 3 == 2 { self.0 - 2 } else { self.0 + 1 })
    }

    /// The corner before this one in its face.
    #[inline]
    pub fn prev(self) -> Self {
        Self(if self.0.is_multiple_of(3) { self.0 + 2 } else { self.0 - 1 })
    }

    /// The face this corner belongs to.
    #[inline]
    pub fn face(self) -> FaceId {
        FaceId(self.0 / 3)
    }

    #[inline]
    pub(crate) fn some(self) -> Option<Self> {
        (self != Self::NONE).then_some(self)
    }
}

impl FaceId {
    /// The three corners of this face, in order.
    #[inline]
    pub fn corners(self) -> [CornerId; 3] {
        [CornerId(3 * self.0), CornerId(3 * self.0 + 1), CornerId(3 * self.0 + 2)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn going_round_a_face_returns() {
        for c in (0..12).map(CornerId) {
            assert_eq!(c.next().next().next(), c);
            assert_eq!(c.next().prev(), c);
            assert_eq!(c.next().face(), c.face());
            assert!(c.face().corners().contains(&c));
        }
    }
}
