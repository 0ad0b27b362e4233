//! The scene of what is played: the scene as it was read, what was chosen instead, and what was done and when. Built again from its first step
//! it does the same, bit for bit.

use super::criteria;
use super::paint::{BLACK, Painted};
use ripstop::{Key, Vec2, Vec3};
use toml::{Table, Value};

/// What was chosen instead of what the scene says.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A fabric that is part of the program.
    pub fabric: Option<String>,
    /// A criterion.
    pub criterion: Option<String>,
    /// An opening.
    pub opening: Option<String>,
    /// Factor of strength.
    pub strength: f64,
    /// A strength map.
    pub map: Option<Painted>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { fabric: None, criterion: None, opening: None, strength: 1.0, map: None }
    }
}

/// A grip by hand: a fingertip that moves, or a pin.
#[derive(Clone, Debug)]
pub struct Grabbed {
    /// Name in the scene.
    pub name: String,
    /// When it took hold [s].
    pub from: f64,
    /// Nodes.
    pub nodes: Vec<u32>,
    /// How it moved.
    pub keys: Vec<Key>,
}

/// What was done, and when [s].
#[derive(Clone, Debug, Default)]
pub struct Actions {
    /// Grips, in order.
    pub grips: Vec<Grabbed>,
    /// Grips that were let go, of the scene or by hand.
    pub releases: Vec<(String, f64)>,
    /// Cuts on the material [m].
    pub cuts: Vec<(f64, Vec<Vec2>)>,
    /// Things thrown: tables of bodies.
    pub bodies: Vec<(f64, Table)>,
    /// Winds [m/s].
    pub winds: Vec<(f64, Vec3)>,
}

impl Actions {
    /// Forgets what was done at `time` [s] or later; keyframes that ended then stay.
    pub fn back_to(&mut self, time: f64, half_step: f64) {
        let before = time - half_step;
        self.grips.retain(|grip| grip.from <= before);
        for grip in &mut self.grips {
            grip.keys.retain(|key| key.time <= time + 1.5 * half_step);
        }
        self.releases.retain(|(_, at)| *at <= before);
        self.cuts.retain(|(at, _)| *at <= before);
        self.bodies.retain(|(at, _)| *at <= before);
        self.winds.retain(|(at, _)| *at <= before - half_step);
    }
}

/// How much cloth of a membrane scene bears for its strain where nothing says so.
const USUAL_STRAIN: f64 = 0.15;

/// The criterion of a scene: its kind, and its table.
pub fn criterion(scene: &Table) -> Option<(&str, &Table)> {
    let kinds = scene.get("tear")?.as_table()?.get("criterion")?.as_table()?;
    kinds.iter().find_map(|(kind, table)| Some((kind.as_str(), table.as_table()?)))
}

/// Strain at which a scene's cloth tears, by its criterion and its stiffness [N/m].
pub fn strain_of(scene: &Table, stretch: f64) -> Option<f64> {
    let (kind, table) = criterion(scene)?;
    (criteria::offer(kind)?.strain)(table, stretch)
}

pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|n| n as f64))
}

fn vector(v: Vec3) -> Value {
    Value::Array(v.to_array().map(Value::Float).to_vec())
}

pub(super) fn table(rows: impl IntoIterator<Item = (&'static str, Value)>) -> Table {
    rows.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
}

fn inner<'a>(of: &'a mut Table, key: &str) -> &'a mut Table {
    let value = of.entry(key).or_insert_with(|| Value::Table(Table::new()));
    if !value.is_table() {
        *value = Value::Table(Table::new());
    }
    value.as_table_mut().expect("just made one")
}

fn list<'a>(of: &'a mut Table, key: &str) -> &'a mut Vec<Value> {
    let value = of.entry(key).or_insert_with(|| Value::Array(Vec::new()));
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    value.as_array_mut().expect("just made one")
}

/// Whether strength and toughness of a scene's fabric are known.
fn knows_toughness(scene: &Table) -> bool {
    let fabric = scene.get("fabric").and_then(|fabric| fabric.clone().try_into().ok());
    fabric.is_some_and(|fabric| criteria::has_toughness(&fabric))
}

/// Lays what was chosen over a scene whose fabric has this stiffness [N/m], or whose yarns break at this strain.
pub fn choose(scene: &mut Table, settings: &Settings, stretch: f64, breaking: Option<f64>) {
    if let Some(breaking) = breaking {
        if settings.strength != 1.0 {
            inner(inner(scene, "cloth"), "woven").insert("breaking".into(), Value::Float(breaking * settings.strength));
        }
        return;
    }
    if let Some(fabric) = &settings.fabric {
        scene.insert("fabric".into(), Value::Table(table([("name", Value::String(fabric.clone()))])));
    }
    if let Some(offer) = settings.criterion.as_deref().and_then(criteria::offer)
        && criterion(scene).is_none_or(|(now, _)| now != offer.name)
    {
        let strain = strain_of(scene, stretch).unwrap_or(USUAL_STRAIN);
        let chosen = Value::Table((offer.table)(strain, stretch));
        let kinds = [(offer.name.to_string(), chosen)].into_iter().collect();
        inner(scene, "tear").insert("criterion".into(), Value::Table(kinds));
    }
    // A fabric whose toughness nobody has measured tears by its strain.
    if criterion(scene).is_some_and(|(now, _)| now == "toughness") && !knows_toughness(scene) {
        let kinds = [("separation_tensor", Value::Table(table([("strength", Value::Float(USUAL_STRAIN))])))];
        let tear = inner(scene, "tear");
        tear.insert("criterion".into(), Value::Table(table(kinds)));
        tear.entry("opening").or_insert_with(|| "through".into());
    }
    if criterion(scene).is_none() {
        return;
    }
    let tear = inner(scene, "tear");
    if let Some(opening) = &settings.opening {
        tear.insert("opening".into(), Value::String(opening.clone()));
    }
    if let Some(map) = &settings.map {
        let rows = [("image", Value::String(map.name())), ("black", Value::Float(BLACK))];
        tear.insert("map".into(), Value::Table(table(rows)));
    }
    if settings.strength != 1.0 {
        for (kind, table) in inner(tear, "criterion").iter_mut() {
            if let (Some(offer), Some(table)) = (criteria::offer(kind), table.as_table_mut()) {
                offer.strengthen(table, settings.strength);
            }
        }
    }
}

/// Writes what was done into a scene.
pub fn enact(scene: &mut Table, actions: &Actions) {
    for Grabbed { name, from, nodes, keys } in &actions.grips {
        let numbers = nodes.iter().map(|n| Value::Integer(i64::from(*n))).collect();
        let key = |key: &Key| Value::Table(table([("t", Value::Float(key.time)), ("move", vector(key.shift))]));
        let mut grip = table([
            ("name", Value::String(name.clone())),
            ("from", Value::Float(*from)),
            ("where", Value::Table(table([("numbers", Value::Array(numbers))]))),
        ]);
        if !keys.is_empty() {
            grip.insert("keys".into(), Value::Array(keys.iter().map(key).collect()));
        }
        list(scene, "grip").push(Value::Table(grip));
    }
    for (name, time) in &actions.releases {
        let grips = list(scene, "grip").iter_mut().filter_map(Value::as_table_mut);
        for grip in grips.filter(|grip| grip.get("name").and_then(Value::as_str) == Some(name)) {
            grip.insert("release".into(), Value::Float(*time));
        }
    }
    for (time, path) in &actions.cuts {
        let path = path.iter().map(|p| Value::Array(p.to_array().map(Value::Float).to_vec())).collect();
        let cut = [("t", Value::Float(*time)), ("path", Value::Array(path)), ("cut", Value::Boolean(true))];
        list(scene, "hand").push(Value::Table(table(cut)));
    }
    for (_, body) in &actions.bodies {
        list(scene, "body").push(Value::Table(body.clone()));
    }
    for (time, velocity) in &actions.winds {
        let shift = table([("t", Value::Float(*time)), ("velocity", vector(*velocity))]);
        list(inner(inner(scene, "air"), "wind"), "shifts").push(Value::Table(shift));
    }
}

/// The table of a ball that is thrown.
pub fn ball(name: &str, from: f64, radius: f64, mass: f64, place: Vec3, velocity: Vec3) -> Table {
    let shape = table([("ball", Value::Table(table([("radius", Value::Float(radius))])))]);
    table([
        ("name", Value::String(name.into())),
        ("from", Value::Float(from)),
        ("shape", Value::Table(shape)),
        ("place", vector(place)),
        ("mass", Value::Float(mass)),
        ("velocity", vector(velocity)),
        ("colour", Value::Array([0.82, 0.36, 0.24].map(Value::Float).to_vec())),
    ])
}
