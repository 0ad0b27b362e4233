//! Seams and untearable regions of a scene.

use crate::error::SceneError;
use crate::file::{ClothKind, Scene, SeamTable};
use crate::load::{reach, select};
use crate::source::Source;
use ripstop::mesh::{Column, EdgeId, FaceId, Mesh, NodeId};
use ripstop::opening::nearest_node;
use ripstop::tear::Seam;
use ripstop::tear::seam::{Step, draw_along, steps_along, steps_of};
use ripstop::{Cloth, Vec2, Vec3};
use std::collections::BTreeMap;

impl Scene {
    /// The way of every seam over the edges of the mesh. A flat sheet is drawn to the lines of its seams; a mesh from a file stays
    /// as it is.
    pub(crate) fn seams(
        &self,
        source: &Source,
        mesh: &mut Mesh,
        positions: Option<&Column<NodeId, Vec3>>,
    ) -> Result<Vec<Vec<Step>>, SceneError> {
        let mut done = Vec::new();
        let mut ways = Vec::new();
        for (i, table) in self.seam.iter().enumerate() {
            let number = i.to_string();
            let steps = match (&table.group, &self.cloth, positions) {
                (Some(group), ClothKind::Obj { file, scale, .. }, Some(x)) => {
                    let path = source.beside(file);
                    let edges = group_edges(mesh, x, &path, *scale, group).map_err(|(cause, advice)| {
                        source.fault(
                            &["seam", &number, "group"],
                            format!("{}: {cause}", crate::inline::shown(&path)),
                            advice,
                        )
                    })?;
                    steps_of(mesh, &edges)
                }
                _ => {
                    self.is_on_cloth(source, mesh, i, table)?;
                    match positions {
                        None => draw_along(mesh, &table.path, &mut done),
                        Some(_) => steps_along(mesh, &table.path),
                    }
                }
            };
            ways.push(steps);
        }
        Ok(ways)
    }

    /// Every point of a seam's line lies on the cloth, or no further beside it than a mean edge.
    fn is_on_cloth(&self, source: &Source, mesh: &Mesh, i: usize, table: &SeamTable) -> Result<(), SceneError> {
        let mean = mesh.edges().map(|e| mesh.edge_length(e)).sum::<f64>() / mesh.edges().len() as f64;
        let inside = |f: FaceId, p: Vec2| {
            let [a, b, c] = mesh.face_uv(f);
            [(a, b), (b, c), (c, a)].iter().all(|(a, b)| (*b - *a).perp_dot(p - *a) >= 0.0)
        };
        for &p in &table.path {
            let near = mesh.node_uv(nearest_node(mesh, p)).distance(p) <= mean;
            if !near && !mesh.faces().any(|f| inside(f, p)) {
                let (low, high) = crate::load::uv_bounds(mesh);
                return Err(source.fault(
                    &["seam", &i.to_string(), "path"],
                    format!("seam `{}` leaves the cloth at ({}, {})", table.name, p.x, p.y),
                    format!("the cloth reaches from ({}, {}) to ({}, {}) m", low.x, low.y, high.x, high.y),
                ));
            }
        }
        Ok(())
    }

    /// Sews the seams along their ways.
    pub(crate) fn sew(&self, source: &Source, cloth: &mut Cloth, ways: Vec<Vec<Step>>) -> Result<(), SceneError> {
        for (i, (table, steps)) in self.seam.iter().zip(ways).enumerate() {
            let seam = Seam {
                name: table.name.clone(),
                strength: table.strength,
                opens_at: table.opens_at,
                unpick: table.unpick,
            };
            if cloth.seams.sew(&cloth.mesh, seam, &steps) == 0 {
                let key = if table.group.is_some() { "group" } else { "path" };
                let cause = format!("seam `{}` has no stitch", table.name);
                let advice = "it must be longer than an edge, not on the border, and not on another seam";
                return Err(source.fault(&["seam", &i.to_string(), key], cause, advice));
            }
        }
        Ok(())
    }

    /// Marks the nodes that never part by load.
    pub(crate) fn keep_whole(
        &self,
        source: &Source,
        cloth: &mut Cloth,
        bounds: (Vec2, Vec2),
    ) -> Result<(), SceneError> {
        for (i, region) in self.tear.iter().flat_map(|tear| &tear.untearable).enumerate() {
            let nodes = select(&cloth.mesh, &region.place, bounds);
            if nodes.is_empty() {
                let path = ["tear", "untearable", &i.to_string(), "where"];
                return Err(source.fault(&path, "this region has no node", reach(bounds)));
            }
            cloth.keep_whole(&nodes);
        }
        Ok(())
    }
}

/// The edges of the mesh that lie where the lines of a group of its file do.
fn group_edges(
    mesh: &Mesh,
    x: &Column<NodeId, Vec3>,
    path: &std::path::Path,
    scale: f64,
    group: &str,
) -> Result<Vec<EdgeId>, (String, String)> {
    let key = |ends: [Vec3; 2]| {
        // Zero has two signs.
        let mut bits = ends.map(|p| (p + 0.0).to_array().map(f64::to_bits));
        bits.sort_unstable();
        bits
    };
    let edges: BTreeMap<_, EdgeId> = mesh.edges().map(|e| (key(mesh.edge_nodes(e).map(|n| x[n])), e)).collect();
    let lines = crate::obj::lines(path, scale, group)?;
    let found: Vec<EdgeId> = lines.iter().filter_map(|ends| edges.get(&key(*ends)).copied()).collect();
    if found.len() < lines.len() {
        let cause =
            format!("{} of {} lines of `{group}` are on no edge of the cloth", lines.len() - found.len(), lines.len());
        let advice = "both ends of a line must be at the two ends of an edge of a face, to the last digit";
        return Err((cause, advice.into()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use crate::variant::Parts;
    use ripstop::Simulation;

    fn build(cloth: &str, seam: &str, obj: &str) -> Simulation {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scene.toml");
        std::fs::write(folder.path().join("cloth.obj"), obj).unwrap();
        let scene =
            format!("title = \"t\"\n[time]\nduration = 1\nstep = 1e-4\n{cloth}\n[[seam]]\nname = \"s\"\n{seam}\n");
        std::fs::write(&path, scene).unwrap();
        Parts::read(&path).unwrap().parts[0].build().unwrap().1.engine.into_sheet().unwrap()
    }

    /// Middles of the stitches in the world along x, in the order of the seam.
    fn places(simulation: &Simulation) -> Vec<f64> {
        let cloth = simulation.cloth();
        let mut stitches: Vec<_> = cloth.seams.stitches().collect();
        stitches.sort_by(|a, b| (a.1.from + a.1.to).total_cmp(&(b.1.from + b.1.to)));
        let x = |e| cloth.mesh.edge_nodes(e).map(|n| cloth.x[n].x).iter().sum::<f64>() / 2.0;
        stitches.iter().map(|(e, _)| x(*e)).collect()
    }

    #[test]
    fn a_group_of_lines_is_a_seam_from_its_first_loose_end_on() {
        // Four quads in two rows; the seam is an object of its own with its own points, as modellers write it.
        let mut obj = String::new();
        for y in 0..3 {
            for x in 0..5 {
                obj += &format!("v {x} {y} 0.1\n");
            }
        }
        for y in 0..2 {
            for x in 0..4 {
                let a = 1 + 5 * y + x;
                obj += &format!("f {} {} {} {}\n", a, a + 1, a + 6, a + 5);
            }
        }
        let lines = "o side\nv 3 1 0.1\nv 2 1 0.1\nv 4 1 0.1\nv 1 1 0.1\nv 0 1 0.1\n";
        let cloth = "[cloth.obj]\nfile = \"cloth.obj\"\nscale = 0.5";
        let seam = "group = \"side\"\nopens_at = 1";
        let shuffled = format!("{obj}{lines}l 17 16\nl 18 16\nl 20 19\nl 19 17\n");
        assert_eq!(places(&build(cloth, seam, &shuffled)), [1.75, 1.25, 0.75, 0.25]);
        let chain = format!("{obj}{lines}l -1 -2 -4 -5 -3\n");
        assert_eq!(places(&build(cloth, seam, &chain)), [0.25, 0.75, 1.25, 1.75]);
    }

    #[test]
    fn a_sheet_has_edges_on_the_line_of_its_seam() {
        let cloth = "[cloth.irregular]\nsize = [1.0, 0.7]\nspacing = 0.05";
        let simulation = build(cloth, "path = [[0.43, 0.0], [0.43, 0.7]]\nopens_at = 1", "");
        let stitches = places(&simulation);
        assert!(stitches.len() > 12);
        let on = stitches.iter().filter(|u| (**u - 0.43).abs() < 1e-9).count();
        assert!(on * 10 >= stitches.len() * 8, "{on} of {} are on the line", stitches.len());
    }
}
