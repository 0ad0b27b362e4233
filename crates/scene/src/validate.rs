//! Values that can't be: found before anything is built, and told with their line.

use crate::error::{SceneError, suggest};
use crate::file::{ClothKind, CriterionKind, GripKey, IntegratorKind, ModelKind, Scene, Where};
use crate::source::Source;
use ripstop::criterion::{Direction, Strengths};
use ripstop::tear::Policy;
use ripstop::{Fabric, Vec3};

type Checked = Result<(), SceneError>;

/// Longest runs: at ten thousand steps a second, this many take four months.
const MOST_STEPS: f64 = 1e11;
/// Substeps, iterations or sweeps that a step can have: with more it would not end.
const MOST_ROUNDS: u32 = 100_000;

impl Scene {
    /// Checks every value that needs no cloth to be checked, and finds the fabric.
    pub(crate) fn validate(&self, source: &Source) -> Result<Fabric, SceneError> {
        self.validate_time(source)?;
        let fabric = self.fabric.resolve(source)?;
        if let Some(elasticity) = self.model.elasticity(&fabric) {
            elasticity.check().map_err(|(key, cause)| {
                let advice = "a constant that is left out follows from `fabric.stretch` and `fabric.shear`";
                source.fault(&["model", "membrane", key], cause, advice)
            })?;
        }
        self.validate_integrator(source)?;
        self.validate_place(source)?;
        self.validate_air(source)?;
        self.validate_grips(source)?;
        self.validate_bodies(source)?;
        self.validate_contact(source)?;
        self.validate_tear(source, &fabric)?;
        if let ModelKind::Springs { bend_shear } = self.model {
            not_negative(source, &["model", "springs", "bend_shear"], bend_shear)?;
        }
        self.validate_seams(source)?;
        self.validate_view(source)?;
        self.validate_expect(source)?;
        Ok(fabric)
    }

    fn validate_time(&self, source: &Source) -> Checked {
        let time = &self.time;
        positive(source, &["time", "duration"], time.duration, "s")?;
        positive(source, &["time", "fps"], time.fps, "1/s")?;
        positive(source, &["time", "step"], time.step, "s")?;
        if let Some(fastest) = time.fastest {
            positive(source, &["time", "fastest"], fastest, "m/s")?;
        }
        let steps = (time.duration / time.step).max(time.duration * time.fps);
        if steps > MOST_STEPS || time.duration * time.fps >= f64::from(u32::MAX) {
            // The first of the two that is out of the ordinary.
            let key = if time.duration > 1e6 { "duration" } else { "step" };
            let cause = format!("{:e} s in steps of {:e} s are {steps:.0e} steps", time.duration, time.step);
            return Err(source.fault(&["time", key], cause, format!("a run has at most {MOST_STEPS:.0e} steps")));
        }
        Ok(())
    }

    fn validate_integrator(&self, source: &Source) -> Checked {
        // Counts that must be one or more, and shares that must be within a range.
        let (name, counts, share) = match self.integrator {
            IntegratorKind::Euler {} | IntegratorKind::Midpoint {} | IntegratorKind::Rk4 {} => return Ok(()),
            IntegratorKind::Implicit(s) => (
                "implicit",
                vec![("iterations", s.iterations), ("newton", s.newton), ("substeps", s.substeps)],
                Some(("tolerance", s.tolerance, s.tolerance > 0.0 && s.tolerance < 1.0)),
            ),
            IntegratorKind::SemiImplicit(s) => (
                "semi_implicit",
                vec![("iterations", s.iterations)],
                Some(("tolerance", s.tolerance, s.tolerance > 0.0 && s.tolerance < 1.0)),
            ),
            IntegratorKind::Xpbd(s) => ("xpbd", vec![("iterations", s.iterations), ("substeps", s.substeps)], None),
            IntegratorKind::Pbd(s) => {
                ("pbd", vec![("sweeps", s.sweeps)], Some(("limit", s.limit, s.limit >= 0.0 && s.limit.is_finite())))
            }
        };
        if let Some((key, count)) = counts.into_iter().find(|(_, count)| !(1..=MOST_ROUNDS).contains(count)) {
            let advice =
                format!("it must be one or more, and at most {MOST_ROUNDS}: for finer steps make `time.step` shorter");
            return Err(source.fault(&["integrator", name, key], format!("`{key}` is {count}"), advice));
        }
        match share {
            Some((key, value, false)) => {
                let advice = match key {
                    "limit" => "it is the largest strain of an edge, zero or more; 0.05 is usual",
                    _ => "it is a share of the right-hand side, above 0 and below 1; 1e-3 is usual",
                };
                Err(source.fault(&["integrator", name, key], format!("`{key}` is {value}"), advice))
            }
            _ => Ok(()),
        }
    }

    fn validate_place(&self, source: &Source) -> Checked {
        finite(source, &["gravity"], &self.gravity.to_array())?;
        let place = &self.place;
        finite(source, &["place", "origin"], &place.origin.to_array())?;
        for (key, axis) in [("weft", place.weft), ("warp", place.warp)] {
            finite(source, &["place", key], &axis.to_array())?;
            if (axis.length() - 1.0).abs() > 1e-6 {
                let cause = format!("`{key}` has length {}", axis.length());
                return Err(source.fault(&["place", key], cause, "it must be a unit vector"));
            }
        }
        if place.weft.dot(place.warp).abs() > 1e-6 {
            let cause = "`weft` and `warp` are not at right angles";
            return Err(source.fault(&["place"], cause, "give both: a flat sheet lies unsheared at the start"));
        }
        Ok(())
    }

    fn validate_air(&self, source: &Source) -> Checked {
        let air = &self.air;
        for (key, value) in [("viscous", air.viscous), ("pressure", air.pressure), ("drag", air.drag)] {
            not_negative(source, &["air", key], value)?;
        }
        if let Some(gust) = air.wind.gust {
            finite(source, &["air", "wind", "gust", "amount"], &[gust.amount])?;
            positive(source, &["air", "wind", "gust", "period"], gust.period, "s")?;
            positive(source, &["air", "wind", "gust", "length"], gust.length, "m")?;
        }
        for (list, keys) in [("keys", &air.wind.keys), ("shifts", &air.wind.shifts)] {
            in_order(source, &["air", "wind", list], keys.iter().map(|key| key.t))?;
            for (i, key) in keys.iter().enumerate() {
                finite(source, &["air", "wind", list, &i.to_string(), "velocity"], &key.velocity.to_array())?;
            }
        }
        Ok(())
    }

    fn validate_grips(&self, source: &Source) -> Checked {
        for (i, grip) in self.grip.iter().enumerate() {
            let number = i.to_string();
            if self.grip[..i].iter().any(|other| other.name == grip.name) {
                let cause = format!("two grips are called `{}`", grip.name);
                return Err(source.fault(&["grip", &number, "name"], cause, "results tell grips apart by their names"));
            }
            keyframes(source, &["grip", &number], &grip.keys)?;
            finite(source, &["grip", &number, "release"], &[grip.release.unwrap_or(0.0)])?;
            finite(source, &["grip", &number, "from"], &[grip.from.unwrap_or(0.0)])?;
            if let (Some(from), Some(release)) = (grip.from, grip.release)
                && release <= from
            {
                let cause = format!("grip `{}` lets go at {release} s, before it takes hold at {from} s", grip.name);
                return Err(source.fault(&["grip", &number, "release"], cause, "make `release` later than `from`"));
            }
            place(source, &["grip", &number, "where"], &grip.place)?;
        }
        Ok(())
    }

    fn validate_contact(&self, source: &Source) -> Checked {
        let table = self.contact.unwrap_or_default();
        if let Some(thickness) = table.thickness {
            positive(source, &["contact", "thickness"], thickness, "m")?;
        }
        if let Some(stiffness) = table.stiffness {
            positive(source, &["contact", "stiffness"], stiffness, "N/m")?;
        }
        match table.friction {
            Some(friction) if !(friction >= 0.0 && friction.is_finite()) => Err(source.fault(
                &["contact", "friction"],
                format!("`friction` is {friction}"),
                "it must be zero or more; cloth on cloth has about 0.4",
            )),
            _ => Ok(()),
        }
    }

    /// What [`Bodies`](ripstop::Bodies) can't know, or can't tell the line of.
    fn validate_bodies(&self, source: &Source) -> Checked {
        for (i, body) in self.body.iter().enumerate() {
            let number = i.to_string();
            let at = |key: &'static str| ["body", &number, key];
            if self.body[..i].iter().any(|other| other.name == body.name) {
                let cause = format!("two bodies are called `{}`", body.name);
                return Err(source.fault(&at("name"), cause, "results tell bodies apart by their names"));
            }
            keyframes(source, &["body", &number], &body.keys)?;
            finite(source, &at("from"), &[body.from.unwrap_or(0.0)])?;
            if body.mass.is_some() && !body.keys.is_empty() {
                let cause = format!("body `{}` has a mass and keyframes", body.name);
                return Err(source.fault(&at("mass"), cause, "`mass` makes it free, `keys` move it: keep one of them"));
            }
            for (key, value) in [("velocity", body.velocity), ("spin", body.spin)] {
                finite(source, &at(key), &value.to_array())?;
                if body.mass.is_none() && value != Vec3::ZERO {
                    let cause = format!("body `{}` has a {key} but no mass", body.name);
                    return Err(source.fault(&at(key), cause, "add `mass` to make it free, or move it by `keys`"));
                }
            }
            for (key, value) in [("place", body.place), ("turn", body.turn)] {
                finite(source, &at(key), &value.to_array())?;
            }
            finite(source, &at("colour"), &body.colour.unwrap_or_default().map(f64::from))?;
            if let Some(held) = &body.holds {
                finite(source, &at("holds"), held.numbers().as_flattened())?;
            }
        }
        Ok(())
    }

    /// A criterion that looks at stress needs a model that has it.
    fn validate_stress(&self, source: &Source, criterion: &str) -> Checked {
        let ModelKind::Springs { .. } = self.model else { return Ok(()) };
        let cause = format!("`{criterion}` looks at the stress of faces, and springs have none");
        let path = ["tear", "criterion", criterion];
        Err(source.fault(&path, cause, "add [model.membrane], or use another criterion"))
    }

    fn validate_toughness(&self, source: &Source, fabric: &Fabric) -> Checked {
        self.validate_stress(source, "toughness")?;
        let missing = if fabric.strength.is_none() { "strength" } else { "toughness" };
        if fabric.strength.is_some() && fabric.toughness.is_some() {
            return Ok(());
        }
        let known = crate::fabric::names().filter(|name| {
            crate::fabric::named(name)
                .is_ok_and(|known| known.fabric.strength.is_some() && known.fabric.toughness.is_some())
        });
        let known: Vec<&str> = known.collect();
        let cause = format!("the fabric has no `{missing}`, which the criterion `toughness` needs");
        let advice = format!(
            "add [fabric.strength] with weft and warp in N/m and [fabric.toughness] with weft and warp in N, \
             or use a fabric that has both: {}",
            known.join(", ")
        );
        Err(source.fault(&["tear", "criterion", "toughness"], cause, advice))
    }

    fn validate_directional(&self, source: &Source, strengths: &[Direction]) -> Checked {
        let table = ["tear", "criterion", "directional"];
        self.validate_stress(source, "directional")?;
        let Err((row, key, cause)) = Strengths::new(strengths) else { return Ok(()) };
        let row = row.to_string();
        let path: Vec<&str> = table.into_iter().chain(["strengths", &row, key]).collect();
        let path = if key.is_empty() { &path[..4] } else { &path };
        let advice = "give { angle, strength } for lines from 0 to below 180 degrees, in order, each once; \
                      one direction alone means the same strength in all";
        Err(source.fault(path, cause, advice))
    }

    fn validate_tear(&self, source: &Source, fabric: &Fabric) -> Checked {
        if let Some(tear) = &self.tear {
            let strength =
                |name, strength| positive(source, &["tear", "criterion", name, "strength"], strength, "strain");
            match &tear.criterion {
                CriterionKind::SeparationTensor { strength: s, .. } => strength("separation_tensor", *s)?,
                CriterionKind::EdgeStrain { strength: s } => strength("edge_strain", *s)?,
                CriterionKind::Directional { strengths } => self.validate_directional(source, strengths)?,
                CriterionKind::Toughness { factor } => {
                    positive(source, &["tear", "criterion", "toughness", "factor"], *factor, "relative strength")?;
                    self.validate_toughness(source, fabric)?;
                }
            }
            share(source, &["tear", "weave"], tear.weave)?;
            positive(source, &["tear", "weak"], tear.weak, "relative strength")?;
            if tear.per_step == Some(0) {
                return Err(source.fault(
                    &["tear", "per_step"],
                    "`per_step` is 0",
                    "it must be one or more; without [tear] nothing tears by load",
                ));
            }
            if let Some(rate) = tear.per_second {
                positive(source, &["tear", "per_second"], rate, "1/s")?;
            }
            if let Some(edge) = tear.refine {
                positive(source, &["tear", "refine"], edge, "m")?;
                if self.integrator.is_explicit() {
                    let cause = "explicit steps would have to become shorter as edges do";
                    return Err(source.fault(
                        &["tear", "refine"],
                        cause,
                        "use [integrator.implicit] or [integrator.xpbd]",
                    ));
                }
            }
            not_negative(source, &["tear", "pause"], tear.pause)?;
            not_negative(source, &["tear", "smallest_piece"], tear.smallest_piece.unwrap_or(0.0))?;
            if let Some(hem) = tear.hem {
                positive(source, &["tear", "hem", "width"], hem.width, "m")?;
                positive(source, &["tear", "hem", "factor"], hem.factor, "relative strength")?;
            }
            if let Some(noise) = tear.noise {
                positive(source, &["tear", "noise", "scale"], noise.scale, "m")?;
                share(source, &["tear", "noise", "amount"], noise.amount)?;
            }
            for (i, region) in tear.untearable.iter().enumerate() {
                let path = ["tear", "untearable", &i.to_string(), "where"];
                place(source, &path, &region.place)?;
            }
            if let Policy::EndOfStep { rounds: 0 } | Policy::FirstTear { limit: 0 } = tear.policy() {
                let advice = "it must be one or more; without [tear] nothing tears by load";
                return Err(source.fault(&["tear", "policy"], "this policy never tears", advice));
            }
            if let Some(map) = &tear.map {
                positive(source, &["tear", "map", "black"], map.black, "relative strength")?;
            }
        }
        if let Some(plastic) = self.plastic {
            positive(source, &["plastic", "yield_strain"], plastic.yield_strain, "strain")?;
            share(source, &["plastic", "flow"], plastic.flow)?;
        }
        for (i, hand) in self.hand.iter().enumerate() {
            let number = i.to_string();
            finite(source, &["hand", &number, "t"], &[hand.t])?;
            if hand.path.len() < 2 {
                let path = ["hand", &number, "path"];
                return Err(source.fault(&path, "a tear by hand needs at least two points", "path = [[u, v], [u, v]]"));
            }
            for point in &hand.path {
                finite(source, &["hand", &number, "path"], &point.to_array())?;
            }
        }
        Ok(())
    }

    fn validate_seams(&self, source: &Source) -> Checked {
        for (i, seam) in self.seam.iter().enumerate() {
            let number = i.to_string();
            let name = &seam.name;
            let fault = |key: &str, cause: String, advice: &str| {
                let path = ["seam", number.as_str(), key];
                Err(source.fault(&path[..if key.is_empty() { 2 } else { 3 }], cause, advice))
            };
            if self.seam[..i].iter().any(|other| other.name == *name) {
                let cause = format!("two seams are called `{name}`");
                return fault("name", cause, "results tell seams apart by their names");
            }
            match (&seam.group, seam.path.len()) {
                (Some(_), 1..) => {
                    let cause = format!("seam `{name}` has a `path` and a `group`");
                    return fault("group", cause, "keep one of them");
                }
                (Some(_), 0) if !matches!(self.cloth, ClothKind::Obj { .. }) => {
                    let cause = format!("seam `{name}` has a `group`, but the cloth is from no file");
                    return fault("group", cause, "groups are in [cloth.obj]; draw it by `path = [[u, v], [u, v]]`");
                }
                (None, 0..2) => {
                    let cause = format!("seam `{name}` needs a line of at least two points");
                    return fault("path", cause, "path = [[u, v], [u, v]]");
                }
                _ => {}
            }
            for point in &seam.path {
                finite(source, &["seam", &number, "path"], &point.to_array())?;
            }
            if let Some(strength) = seam.strength {
                if !(strength > 0.0 && strength <= 1.0) {
                    let advice = "it is that of the seam over that of the cloth, above 0 and at most 1";
                    return fault("strength", format!("`strength` is {strength}"), advice);
                }
                if self.tear.is_none() {
                    let cause = format!("seam `{name}` gives way to load, but without [tear] nothing does");
                    return fault("strength", cause, "add [tear] with a criterion, or use `opens_at` or `unpick`");
                }
            }
            finite(source, &["seam", &number, "opens_at"], &[seam.opens_at.unwrap_or(0.0)])?;
            if let Some(unpick) = seam.unpick {
                finite(source, &["seam", &number, "unpick"], &[unpick.from, unpick.to])?;
                if unpick.to <= unpick.from {
                    let cause = format!("`unpick` ends at {} s, not after it begins at {} s", unpick.to, unpick.from);
                    return fault(
                        "unpick",
                        cause,
                        "make `to` later than `from`; `reverse = true` begins at the other end",
                    );
                }
                if seam.opens_at.is_some() {
                    let cause = format!("seam `{name}` has `opens_at` and `unpick`");
                    return fault("opens_at", cause, "keep one of them: all at once, or along its length");
                }
            }
            if seam.strength.is_none() && seam.opens_at.is_none() && seam.unpick.is_none() {
                let cause = format!("seam `{name}` never opens");
                return fault("", cause, "add `strength`, `opens_at` or `unpick`");
            }
        }
        Ok(())
    }

    fn validate_view(&self, source: &Source) -> Checked {
        if let Some(camera) = &self.camera {
            finite(source, &["camera", "eye"], &camera.eye.to_array())?;
            finite(source, &["camera", "target"], &camera.target.to_array())?;
            if camera.eye == camera.target {
                let cause = "the camera stands where it looks";
                return Err(source.fault(&["camera", "eye"], cause, "move `eye` away from `target`"));
            }
            if !(camera.angle > 0.0 && camera.angle < 180.0) {
                let cause = format!("`angle` is {}", camera.angle);
                return Err(source.fault(&["camera", "angle"], cause, "it goes from 0 to 180 degrees, 35 is usual"));
            }
        }
        let look = &self.look;
        finite(source, &["look", "floor"], &[look.floor.unwrap_or(0.0)])?;
        finite(source, &["look", "stills"], &look.stills)?;
        finite(source, &["look", "colour"], &look.colour.unwrap_or_default().map(f64::from))
    }

    /// What an expectation names must be there: otherwise it could only fail after the whole run.
    fn validate_expect(&self, source: &Source) -> Checked {
        let expect = &self.expect;
        let snags = expect.snags.as_ref().map(|s| ("snags", &s.grip));
        let across = expect.across_pull.as_ref().map(|a| ("across_pull", &a.grip));
        let names: Vec<&str> = self.grip.iter().map(|grip| grip.name.as_str()).collect();
        let loads = expect.load.iter().map(|load| ("load", &load.grip));
        for (key, name) in [snags, across].into_iter().flatten().chain(loads) {
            if !names.contains(&name.as_str()) {
                let advice = suggest(name, &names, "grips");
                return Err(source.fault(&["expect", key, "grip"], format!("there is no grip `{name}`"), advice));
            }
        }
        if expect.torn_in_weak.is_some() && self.tear.as_ref().is_none_or(|tear| tear.map.is_none()) {
            let cause = "`torn_in_weak` is about a strength map, but there is none";
            return Err(source.fault(&["expect", "torn_in_weak"], cause, "add [tear.map], or leave it out"));
        }
        if let Some(on) = &expect.torn_on_seam {
            let names: Vec<&str> = self.seam.iter().map(|seam| seam.name.as_str()).collect();
            let path = ["expect", "torn_on_seam", "name"];
            match &on.name {
                Some(name) if !names.contains(&name.as_str()) => {
                    let advice = suggest(name, &names, "seams");
                    return Err(source.fault(&path, format!("there is no seam `{name}`"), advice));
                }
                None if names.is_empty() => {
                    let cause = "`torn_on_seam` is about seams, but there are none";
                    return Err(source.fault(&path[..2], cause, "add [[seam]], or leave it out"));
                }
                _ => {}
            }
        }
        if let Some(torn) = &expect.torn_path {
            let path = ["expect", "torn_path", "path"];
            finite(source, &path, &torn.path.iter().flat_map(|p| p.to_array()).collect::<Vec<_>>())?;
            if torn.path.len() < 2 {
                let cause = "`torn_path` needs a line of at least two points";
                return Err(source.fault(&path, cause, "path = [[u, v], [u, v]]"));
            }
        }
        if let Some(evenly) = expect.torn_evenly {
            finite(source, &["expect", "torn_evenly"], &[evenly.from, evenly.to])?;
            if evenly.to <= evenly.from {
                let cause = format!("`to` is {} s, not after `from`, {} s", evenly.to, evenly.from);
                return Err(source.fault(&["expect", "torn_evenly", "to"], cause, "make `to` later than `from`"));
            }
        }
        if let Some(onset) = &expect.onset {
            let path = source.beside(&onset.like);
            if !path.is_file() {
                let cause = format!("there is no scene {}", path.display());
                let advice = "paths are relative to the scene's folder";
                return Err(source.fault(&["expect", "onset", "like"], cause, advice));
            }
        }
        Ok(())
    }
}

fn name<'a>(path: &[&'a str]) -> &'a str {
    path.iter().rev().copied().find(|part| part.parse::<usize>().is_err()).unwrap_or("value")
}

fn positive(source: &Source, path: &[&str], value: f64, unit: &str) -> Checked {
    if value.is_finite() && value > 0.0 {
        return Ok(());
    }
    let rule = if value > 0.0 { "finite" } else { "above zero" };
    Err(source.fault(path, format!("`{}` is {value}", name(path)), format!("it must be {rule} [{unit}]")))
}

fn not_negative(source: &Source, path: &[&str], value: f64) -> Checked {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(source.fault(path, format!("`{}` is {value}", name(path)), "it must be zero or more"))
}

fn share(source: &Source, path: &[&str], value: f64) -> Checked {
    if (0.0..=1.0).contains(&value) {
        return Ok(());
    }
    Err(source.fault(path, format!("`{}` is {value}", name(path)), "it goes from 0 to 1"))
}

/// A region is where numbers can say.
fn place(source: &Source, path: &[&str], place: &Where) -> Checked {
    if let Where::Polygon(corners) = place
        && corners.len() < 3
    {
        let cause = format!("a polygon of {} corners", corners.len());
        return Err(source.fault(path, cause, "give three or more: polygon = [[u, v], [u, v], [u, v]]"));
    }
    finite(source, path, place.numbers().as_flattened())
}

fn finite(source: &Source, path: &[&str], values: &[f64]) -> Checked {
    match values.iter().find(|value| !value.is_finite()) {
        None => Ok(()),
        Some(bad) => Err(source.fault(path, format!("`{}` has {bad} in it", name(path)), "give ordinary numbers")),
    }
}

fn keyframes(source: &Source, path: &[&str], keys: &[GripKey]) -> Checked {
    let path: Vec<&str> = path.iter().copied().chain(["keys"]).collect();
    in_order(source, &path, keys.iter().map(|key| key.t))?;
    for (k, key) in keys.iter().enumerate() {
        let k = k.to_string();
        for (name, value) in [("move", key.shift), ("turn", key.turn)] {
            let path: Vec<&str> = path.iter().copied().chain([k.as_str(), name]).collect();
            finite(source, &path, &value.to_array())?;
        }
    }
    Ok(())
}

fn in_order(source: &Source, path: &[&str], times: impl Iterator<Item = f64>) -> Checked {
    let mut last = f64::NEG_INFINITY;
    for (i, t) in times.enumerate() {
        let number = i.to_string();
        let path: Vec<&str> = path.iter().copied().chain([number.as_str(), "t"]).collect();
        finite(source, &path, &[t])?;
        if t <= last {
            let cause = format!("keyframes out of order: t = {t} after t = {last}");
            return Err(source.fault(&path, cause, "sort them by `t`, each time once"));
        }
        last = t;
    }
    Ok(())
}
