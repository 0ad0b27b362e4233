//! Laws of edits, over random walks: the mesh checks valid, area and uv are kept, order of openings is irrelevant.

use proptest::prelude::*;
use ripstop_mesh::{Change, ChangeLog, CornerId, EdgeId, Id, Mesh, Vec2, generate, pieces};

#[derive(Clone, Copy, Debug)]
enum Edit {
    Split(u32, f64),
    Face(u32, f64, f64),
    Open(u32),
    Flip(u32),
    Merge(u32),
}

fn edit() -> impl Strategy<Value = Edit> {
    prop_oneof![
        2 => (any::<u32>(), 0.1..0.9).prop_map(|(e, t)| Edit::Split(e, t)),
        1 => (any::<u32>(), 0.1..0.45, 0.1..0.45).prop_map(|(f, a, b)| Edit::Face(f, a, b)),
        5 => any::<u32>().prop_map(Edit::Open),
        5 => any::<u32>().prop_map(Edit::Flip),
        8 => any::<u32>().prop_map(Edit::Merge),
    ]
}

/// One of those that are there.
fn one<I>(mut ids: impl ExactSizeIterator<Item = I>, number: u32) -> I {
    let count = ids.len();
    ids.nth(number as usize % count).expect("there are some")
}

fn apply(mesh: &mut Mesh, edit: Edit, log: &mut ChangeLog) {
    match edit {
        Edit::Split(e, t) => {
            mesh.split_edge(one(mesh.edges(), e), t, log);
        }
        Edit::Face(f, a, b) => {
            mesh.split_face(one(mesh.faces(), f), [a, b, 1.0 - a - b], log);
        }
        Edit::Open(e) => {
            mesh.open_edge(one(mesh.edges(), e), log);
        }
        Edit::Flip(e) => {
            mesh.flip_edge(one(mesh.edges(), e), log);
        }
        Edit::Merge(e) => {
            let edge = one(mesh.edges(), e);
            mesh.merge(mesh.edge_nodes(edge)[e as usize % 2], edge, log);
        }
    }
}

/// Everything that doesn't depend on numbering: twins, uv, and which corners share a node.
fn shape(mesh: &Mesh) -> Vec<(Option<CornerId>, Vec2, CornerId)> {
    let owner = |c| mesh.fan(mesh.node(c)).min().expect("fan");
    mesh.corners().map(|c| (mesh.twin(c), mesh.uv(c), owner(c))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn walks_keep_the_mesh_valid_and_its_area(edits in prop::collection::vec(edit(), 1..120), seed in 0u64..4) {
        let mut mesh = generate::irregular(Vec2::new(1.0, 0.8), 0.2, seed).unwrap();
        let mut log = ChangeLog::new();
        let area = mesh.area();
        for edit in edits {
            let (nodes, edges, faces) = (mesh.node_count(), mesh.edge_count(), mesh.face_count());
            let there = [mesh.nodes().len(), mesh.edges().len(), mesh.faces().len()];
            let uv: Vec<Vec2> = mesh.nodes().map(|n| mesh.node_uv(n)).collect();
            log.clear();
            apply(&mut mesh, edit, &mut log);
            mesh.check().unwrap();
            prop_assert!((mesh.area() - area).abs() < 1e-12);
            prop_assert!(mesh.faces().all(|f| mesh.face_area(f) > 0.0));
            // The log accounts for every new id.
            let (mut n, mut e, mut f) = (nodes, edges, faces);
            for change in &log {
                match *change {
                    Change::EdgeSplit { faces, .. } => {
                        let sides = faces.iter().flatten().count();
                        (n, e, f) = (n + 1, e + 1 + sides, f + sides);
                    }
                    Change::FaceSplit { .. } => (n, e, f) = (n + 1, e + 3, f + 2),
                    Change::EdgeOpened { .. } => e += 1,
                    Change::NodeSplit { .. } => n += 1,
                    Change::NodeMoved { .. } | Change::EdgeFlipped { .. } => {}
                    Change::NodeMerged { node, into, edge, faces, spokes, .. } => {
                        let sides = faces.iter().flatten().count();
                        let now = [mesh.nodes().len(), mesh.edges().len(), mesh.faces().len()];
                        prop_assert_eq!(now, [there[0] - 1, there[1] - 1 - sides, there[2] - sides]);
                        prop_assert!(mesh.is_retired_node(node) && mesh.is_retired_edge(edge) && !mesh.is_retired_node(into));
                        prop_assert!(spokes.iter().flatten().all(|&e| mesh.is_retired_edge(e)));
                        // Nothing else has moved in the material.
                        let places = mesh.nodes().map(|n| mesh.node_uv(n));
                        prop_assert!(places.into_iter().all(|p| uv.contains(&p)));
                    }
                }
            }
            prop_assert_eq!((n, e, f), (mesh.node_count(), mesh.edge_count(), mesh.face_count()));
        }
    }

    #[test]
    fn a_split_keeps_uv_on_the_old_line(e in any::<u32>(), t in 0.1..0.9) {
        let mut mesh = generate::irregular(Vec2::ONE, 0.25, 3).unwrap();
        let edge = EdgeId(e % mesh.edge_count() as u32);
        let c = mesh.edge_corner(edge);
        let (a, b) = (mesh.uv(c), mesh.uv(c.next()));
        let m = mesh.split_edge(edge, t, &mut ChangeLog::new());
        prop_assert!((mesh.node_uv(m) - a.lerp(b, t)).length() < 1e-15);
        prop_assert!((mesh.edge_length(edge) - t * a.distance(b)).abs() < 1e-15);
    }

    #[test]
    fn the_order_of_openings_is_irrelevant(
        (first, second) in prop::collection::vec(0usize..180, 2..60)
            .prop_flat_map(|edges| (Just(edges.clone()), Just(edges).prop_shuffle())),
    ) {
        let open = |edges: &[usize]| {
            let mut mesh = generate::grid(Vec2::ONE, [8, 8]).unwrap();
            for &e in edges {
                mesh.open_edge(EdgeId::new(e % 161), &mut ChangeLog::new());
            }
            mesh
        };
        let (a, b) = (open(&first), open(&second));
        a.check().unwrap();
        prop_assert_eq!(shape(&a), shape(&b));
        prop_assert_eq!(pieces(&a).areas.len(), pieces(&b).areas.len());
    }
}

#[test]
fn an_edge_turned_twice_is_where_it_was() {
    let mesh = generate::irregular(Vec2::ONE, 0.2, 3).unwrap();
    let mut turned = 0;
    for e in mesh.edges() {
        let (mut other, mut log) = (mesh.clone(), ChangeLog::new());
        if !other.flip_edge(e, &mut log) {
            continue;
        }
        turned += 1;
        let [Change::EdgeFlipped { edge, corners: [a, b, o, p], .. }] = log[..] else { panic!("one change") };
        assert_eq!(edge, e);
        let ends = |mesh: &Mesh| {
            let mut ends = mesh.edge_nodes(e);
            ends.sort_unstable();
            ends
        };
        assert_eq!((ends(&mesh), ends(&other)), ([a.min(b), a.max(b)], [o.min(p), o.max(p)]));
        other.check().unwrap();
        assert!(other.flip_edge(e, &mut log));
        other.check().unwrap();
        assert_eq!(ends(&mesh), ends(&other));
    }
    assert!(turned > mesh.edge_count() / 4, "{turned} of {}", mesh.edge_count());
}

#[test]
fn opening_every_edge_leaves_single_triangles() {
    let mut mesh = generate::grid(Vec2::ONE, [6, 5]).unwrap();
    let mut log = ChangeLog::new();
    for e in mesh.edges() {
        mesh.open_edge(e, &mut log);
    }
    mesh.check().unwrap();
    assert_eq!(mesh.node_count(), 3 * mesh.face_count());
    assert_eq!(pieces(&mesh).areas.len(), mesh.face_count());
}

#[test]
fn a_slit_inside_doubles_only_its_inner_nodes() {
    // Three edges in a row inside a grid: two inner nodes double, the two tips don't.
    let mut mesh = generate::grid(Vec2::ONE, [7, 5]).unwrap();
    let mut log = ChangeLog::new();
    let row: Vec<_> = mesh
        .edges()
        .filter(|&e| {
            let [a, b] = mesh.edge_nodes(e).map(|n| mesh.node_uv(n));
            (a.y - 0.5).abs() < 1e-9 && (b.y - 0.5).abs() < 1e-9 && (a.x + b.x) / 2.0 > 0.2 && (a.x + b.x) / 2.0 < 0.7
        })
        .collect();
    assert_eq!(row.len(), 3);
    for e in row {
        assert!(mesh.open_edge(e, &mut log));
        assert!(!mesh.open_edge(e, &mut log), "open already");
    }
    let doubled = log.iter().filter(|c| matches!(c, Change::NodeSplit { .. })).count();
    assert_eq!(doubled, 2);
    assert_eq!(pieces(&mesh).areas.len(), 1);
    mesh.check().unwrap();
}
