//! Laws of tips: the end of a slit goes where it is led.

use ripstop::mesh::{ChangeLog, EdgeId, Mesh, generate, height_share, pieces};
use ripstop::opening::cut::LEAST;
use ripstop::opening::tip::{LONG, Tip, lead};
use ripstop::opening::{cut, nearest_on_line};
use ripstop::{Cloth, Placement, Vec2, Vec3};

fn flat(mesh: Mesh) -> Cloth {
    Cloth::flat(mesh, 0.2, Placement::default())
}

const EDGE: f64 = 0.05;

fn follow(cloth: &mut Cloth, log: &ChangeLog) {
    cloth.follow(log);
    cloth.mesh.check().unwrap();
}

/// A sheet of a square metre with a slit from its left side to `at`.
fn slit(seed: u64, at: Vec2) -> (Cloth, Tip) {
    let mut cloth = flat(generate::irregular(Vec2::ONE, EDGE, seed).unwrap());
    let mut log = ChangeLog::new();
    cut(&mut cloth, &[Vec2::new(-0.1, at.y), at], 0.15 * EDGE, &mut log);
    follow(&mut cloth, &log);
    let tips = Tip::all(&cloth);
    assert_eq!(tips.len(), 1);
    (cloth, tips[0])
}

/// Leads a tip and returns it as it is then.
fn led(cloth: &mut Cloth, tip: Tip, goal: Vec2) -> Tip {
    let mut log = ChangeLog::new();
    let node = lead(cloth, None, (tip.node, goal), EDGE, &|_, _| true, &mut log);
    follow(cloth, &log);
    Tip::of(cloth, node).expect("still a tip")
}

fn lips(cloth: &Cloth) -> Vec<[Vec2; 2]> {
    let ends = |e: EdgeId| [cloth.mesh.edge_corner(e), cloth.mesh.edge_corner(e).next()].map(|c| cloth.mesh.uv(c));
    cloth.mesh.edges().filter(|&e| cloth.torn[e]).map(ends).collect()
}

#[test]
fn a_tip_goes_straight_on_in_steps_of_any_length() {
    for seed in 0..6 {
        for step in [0.07, 0.3, 0.6] {
            let (mut cloth, mut tip) = slit(seed, Vec2::new(0.2, 0.47));
            tip = led(&mut cloth, tip, Vec2::new(0.2, 0.47));
            for k in 1..=(0.55 / (step * EDGE)) as usize {
                let goal = Vec2::new(0.2 + k as f64 * step * EDGE, 0.47);
                tip = led(&mut cloth, tip, goal);
                // Where it doesn't get there the cloth is cut on, as blades do.
                if tip.at.distance(goal) > 0.1 * EDGE {
                    let mut log = ChangeLog::new();
                    cut(&mut cloth, &[tip.at, goal], 0.15 * EDGE, &mut log);
                    follow(&mut cloth, &log);
                    let tips = Tip::all(&cloth);
                    assert_eq!(tips.len(), 1);
                    tip = led(&mut cloth, tips[0], goal);
                }
                assert!(tip.at.distance(goal) < 0.25 * EDGE, "mesh {seed}, steps of {step}: {} for {goal}", tip.at);
            }
            let off = lips(&cloth).iter().flatten().map(|p| (p.y - 0.47).abs()).fold(0.0, f64::max);
            assert!(off < 1e-9, "{off} m off");
            let height = |f| height_share(cloth.mesh.face_uv(f));
            let lowest = cloth.mesh.faces().map(height).fold(1.0, f64::min);
            assert!(lowest >= LEAST, "mesh {seed}, steps of {step}: {lowest}");
            assert!((cloth.mesh.area() - 1.0).abs() < 1e-12);
            assert_eq!(pieces(&cloth.mesh).areas.len(), 1);
            let longest = lips(&cloth).iter().map(|[p, q]| p.distance(*q)).fold(0.0, f64::max);
            assert!(longest < 2.0 * LONG * EDGE, "{longest} m");
        }
    }
}

#[test]
fn a_tip_goes_back_too() {
    let (mut cloth, tip) = slit(3, Vec2::new(0.5, 0.47));
    let to = tip.at.lerp(tip.back, 0.3);
    let tip = led(&mut cloth, tip, to);
    assert!(tip.at.distance(to) < 1e-9);
    let far = |p: &Vec2| nearest_on_line(*p, Vec2::new(0.0, 0.47), to).distance(*p);
    assert!(lips(&cloth).iter().flatten().all(|p| far(p) < 1e-9));
}

#[test]
fn where_something_sharp_would_be_passed_nothing_moves() {
    // No face is crossed, and whatever moves would pass through something.
    let (mut cloth, tip) = slit(3, Vec2::new(0.5, 0.47));
    let (whole, mut log) = (cloth.clone(), ChangeLog::new());
    lead(&mut cloth, None, (tip.node, tip.at + Vec2::X * 0.3 * EDGE), EDGE, &|_, t| t[2] == t[3], &mut log);
    assert!(log.is_empty() && cloth == whole);
}

#[test]
fn flips_and_slides_keep_flat_cloth_where_it_is() {
    let (mut cloth, mut tip) = slit(2, Vec2::new(0.3, 0.47));
    let place = |uv: Vec2| Vec3::new(1.2 * uv.x, 0.9 * uv.y + 0.1 * uv.x, 0.3 * uv.x - 0.2 * uv.y);
    for n in cloth.mesh.nodes() {
        cloth.x[n] = place(cloth.mesh.node_uv(n));
    }
    for _ in 0..20 {
        let goal = tip.at + Vec2::new(0.3, 0.1) * EDGE;
        tip = led(&mut cloth, tip, goal);
    }
    for n in cloth.mesh.nodes() {
        assert!(cloth.x[n].distance(place(cloth.mesh.node_uv(n))) < 1e-12);
    }
    for e in cloth.mesh.edges() {
        assert!((cloth.woven[e] - cloth.mesh.edge_length(e)).abs() < 1e-15);
    }
}
