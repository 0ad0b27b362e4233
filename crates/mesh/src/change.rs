//! What an edit did, for every table that holds per-element values to follow.

use crate::{EdgeId, FaceId, NodeId};

/// One thing that happened to the mesh. New ids are always the next ones of their kind, those of what was taken away stay unused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change {
    /// `edge` was divided at `node`, a fraction `at` of the way from `tail` to `head`. `edge` keeps the half at
    /// `tail`, `rest` is the half at `head`. Each adjacent face became two: `faces` pairs the old id with the new.
    EdgeSplit {
        /// Edge that was divided; now `tail`–`node`.
        edge: EdgeId,
        /// New edge `node`–`head`.
        rest: EdgeId,
        /// First node of the divided edge.
        tail: NodeId,
        /// Second node of the divided edge.
        head: NodeId,
        /// Fraction of the length from `tail` to `head`, in (0, 1).
        at: f64,
        /// The new node.
        node: NodeId,
        /// Old face and the new one cut from it, for each side that has a face.
        faces: [Option<(FaceId, FaceId)>; 2],
        /// New edges from `node` to the corner opposite the edge, one per side.
        spokes: [Option<EdgeId>; 2],
    },
    /// `face` was divided into three at `node`, which has weights `at` with respect to the old `corners`.
    FaceSplit {
        /// Face that was divided; keeps its first edge.
        face: FaceId,
        /// Nodes of the face before the split.
        corners: [NodeId; 3],
        /// Edges of the face before the split.
        edges: [EdgeId; 3],
        /// Barycentric weights of the new node.
        at: [f64; 3],
        /// The new node.
        node: NodeId,
        /// The two new faces, on the old second and third edge.
        faces: [FaceId; 2],
        /// New edges from the old corners to `node`.
        spokes: [EdgeId; 3],
    },
    /// The two sides of `edge` were unlinked: one keeps the id, the other is the new border edge `lip`.
    EdgeOpened {
        /// Edge that was opened.
        edge: EdgeId,
        /// The other lip.
        lip: EdgeId,
    },
    /// The corners of `node` no longer formed one fan; those of one fan now belong to the new node `copy`.
    NodeSplit {
        /// Node that keeps its id.
        node: NodeId,
        /// New node at the same place.
        copy: NodeId,
    },
    /// `node` moved within the material, to the point that had weights `at` in the old face with these `corners`, of which it is
    /// the first.
    NodeMoved {
        /// The node.
        node: NodeId,
        /// Nodes of the face in which it is now, as the face was before.
        corners: [NodeId; 3],
        /// Barycentric weights of the new place in it.
        at: [f64; 3],
    },
    /// `edge` was turned within the quadrilateral of its two faces: it was the one diagonal and is the other. Faces keep their ids.
    EdgeFlipped {
        /// Edge that was turned.
        edge: EdgeId,
        /// Nodes of the quadrilateral: the old ends, then the new ones.
        corners: [NodeId; 4],
        /// The other edges of the two faces.
        sides: [EdgeId; 4],
    },
    /// `node` was taken away along `edge` to the other end of it, `into`, which is the corner of its faces now. All ids named here but `into` and `sides` are retired.
    NodeMerged {
        /// Node that was taken away.
        node: NodeId,
        /// Node that its corners belong to now.
        into: NodeId,
        /// Edge between the two.
        edge: EdgeId,
        /// The faces that the edge had.
        faces: [Option<FaceId>; 2],
        /// The edges of these faces that ended in `node`, one per face.
        spokes: [Option<EdgeId>; 2],
        /// The edges beside which they lie now and which stand for them: of each of these faces the one that ends in `into`.
        sides: [Option<EdgeId>; 2],
    },
}

/// Changes in the order in which they happened.
pub type ChangeLog = Vec<Change>;
