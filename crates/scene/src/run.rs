//! A run: steps a scene from frame to frame and writes what comes out.
//!
//! While it goes on, `frames.bin`, `events.jsonl` and `stats.csv` carry the ending `.part`; they get their names when
//! the run is whole, and `summary.json` is written last. A checkpoint is kept beside them.

use crate::cache::{BodySurface, CacheHeader, CacheReader, CacheWriter, Frame, Topology};
use crate::checkpoint::{Checkpoint, CheckpointRef};
use crate::engine::{Engine, EngineError};
use crate::error::SceneError;
use crate::expect::Evidence;
use crate::file::Scene;
use crate::keep::{self, Kept};
use crate::load::Built;
use crate::summary::Summary;
use crate::tally::Tally;
use crate::variant::{Part, Parts};
use crate::whole::write_whole;
use crate::{body, cache, export};
use ripstop::{Stage, Watch};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// How to run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where results go; made if it isn't there.
    pub folder: PathBuf,
    /// Stop after so many frames.
    pub frames: Option<u32>,
    /// Go on from the last checkpoint.
    pub resume: bool,
    /// Look from outside for what passes through each other within steps, and note it in the cache.
    pub verify: bool,
    /// Formats to export at the end.
    pub formats: Vec<Format>,
    /// Frames between checkpoints.
    pub checkpoint_every: u32,
}

/// Formats that other programs read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// USD text with changing topology.
    Usda,
    /// One OBJ per frame.
    Obj,
    /// One PLY per frame.
    Ply,
}

/// Why a run ended early.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scene can't be used.
    #[error(transparent)]
    Scene(#[from] SceneError),
    /// A step failed.
    #[error("{cause}; {kept}\n       try a smaller `step`, more damping, or a softer fabric")]
    Step {
        /// What happened.
        cause: EngineError,
        /// Where the last good state is.
        kept: String,
    },
    /// A file can't be written or read.
    #[error("{}: {cause}\n       {advice}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What happened.
        cause: String,
        /// What to do.
        advice: String,
    },
    /// The cache.
    #[error(transparent)]
    Cache(#[from] cache::CacheError),
    /// An export.
    #[error(transparent)]
    Export(#[from] export::ExportError),
}

/// What a run tells on the way.
pub enum Progress<'a> {
    /// A frame is finished.
    Frame {
        /// Its number.
        index: u32,
        /// The last one's.
        last: u32,
        /// Edges opened so far.
        tears: u64,
        /// The frame.
        frame: &'a Frame,
    },
    /// An export goes on.
    Export(&'static str),
    /// Something that will work but may not be meant.
    Warning(&'a str),
}

fn file_error(path: &Path) -> impl FnOnce(std::io::Error) -> RunError + '_ {
    move |e| RunError::File {
        path: path.to_path_buf(),
        advice: match e.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded | std::io::ErrorKind::FileTooLarge => {
                "make room and run again; --resume goes on from the last checkpoint"
            }
            std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
                "choose another folder with -o"
            }
            std::io::ErrorKind::NotADirectory | std::io::ErrorKind::AlreadyExists => {
                "a file is in the way: choose another folder with -o"
            }
            std::io::ErrorKind::IsADirectory => "a folder is in the way: choose another one with -o",
            _ => "finished frames are kept; run again with --resume",
        }
        .into(),
        cause: e.to_string(),
    }
}

/// Seconds by stage.
#[derive(Default)]
struct Clock {
    seconds: Vec<f64>,
    running: Option<(usize, Instant)>,
}

impl Clock {
    fn stop(&mut self) {
        if let Some((stage, since)) = self.running.take() {
            self.seconds[stage] += since.elapsed().as_secs_f64();
        }
    }
}

impl Watch for Clock {
    fn enter(&mut self, stage: Stage) {
        self.stop();
        self.running = Some((stage as usize, Instant::now()));
    }
}

/// The open files of a run.
struct Output {
    folder: PathBuf,
    cache: CacheWriter,
    events: BufWriter<File>,
    stats: BufWriter<File>,
    /// The topology of the last frame.
    last_topology: Option<Arc<Topology>>,
}

const FILES: [&str; 3] = ["frames.bin", "events.jsonl", "stats.csv"];

impl Output {
    fn part(folder: &Path, name: &str) -> PathBuf {
        folder.join(format!("{name}.part"))
    }

    fn create(
        folder: &Path,
        header: CacheHeader,
        engine: &dyn Engine,
        surfaces: &[BodySurface],
    ) -> Result<Self, RunError> {
        std::fs::create_dir_all(folder).map_err(file_error(folder))?;
        // An earlier result must not look like this one's.
        let own = FILES.into_iter().chain(["summary.json", "checkpoint.bin", "cloth.usda"]).map(String::from);
        for name in own.chain(keep::made_from(folder)) {
            for path in [folder.join(&name), Self::part(folder, &name)] {
                match std::fs::remove_file(&path) {
                    Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(file_error(&path)(e)),
                    _ => {}
                }
            }
        }
        for extension in ["obj", "ply"] {
            export::forget(&folder.join(extension), extension)?;
        }
        let open = |name: &str| {
            let path = Self::part(folder, name);
            File::create(&path).map(BufWriter::new).map_err(file_error(&path))
        };
        let mut output = Self {
            cache: CacheWriter::create_with(Self::part(folder, FILES[0]), header, surfaces)?,
            events: open(FILES[1])?,
            stats: open(FILES[2])?,
            folder: folder.to_path_buf(),
            last_topology: None,
        };
        output.write(2, &stats_head(engine))?;
        Ok(output)
    }

    fn resume(folder: &Path, lengths: [u64; 3]) -> Result<Self, RunError> {
        // A run that was stopped after its last frame, while it exported, has given them their names already.
        for name in FILES {
            let (part, whole) = (Self::part(folder, name), folder.join(name));
            if !part.exists() && whole.exists() {
                std::fs::rename(&whole, &part).map_err(file_error(&whole))?;
            }
            if !part.exists() {
                let advice = "run without --resume to start from the beginning".into();
                return Err(RunError::File { path: part, cause: "is gone, so the run can't go on".into(), advice });
            }
        }
        let open = |name: &str, length: u64| {
            let path = Self::part(folder, name);
            let open = || {
                let mut file = OpenOptions::new().write(true).open(&path)?;
                file.set_len(length)?;
                file.seek(std::io::SeekFrom::End(0))?;
                Ok(BufWriter::new(file))
            };
            open().map_err(file_error(&path))
        };
        Ok(Self {
            cache: CacheWriter::resume(Self::part(folder, FILES[0]), lengths[0])?,
            events: open(FILES[1], lengths[1])?,
            stats: open(FILES[2], lengths[2])?,
            folder: folder.to_path_buf(),
            last_topology: None,
        })
    }

    fn write(&mut self, which: usize, text: &str) -> Result<(), RunError> {
        let file = if which == 1 { &mut self.events } else { &mut self.stats };
        file.write_all(text.as_bytes()).map_err(file_error(&Self::part(&self.folder, FILES[which])))
    }

    fn frame(&mut self, engine: &dyn Engine, index: u32) -> Result<Frame, RunError> {
        let frame = engine.frame(index, self.last_topology.as_ref());
        self.last_topology = Some(frame.topology.clone());
        self.cache.append(&frame)?;
        Ok(frame)
    }

    fn flush(&mut self) -> Result<[u64; 3], RunError> {
        self.cache.flush()?;
        let mut lengths = [self.cache.position(), 0, 0];
        for (k, file) in [(1, &mut self.events), (2, &mut self.stats)] {
            let path = Self::part(&self.folder, FILES[k]);
            lengths[k] = file.flush().and_then(|()| file.stream_position()).map_err(file_error(&path))?;
        }
        Ok(lengths)
    }

    /// Gives the files their names.
    fn finish(mut self) -> Result<(), RunError> {
        self.flush()?;
        for name in FILES {
            let path = self.folder.join(name);
            std::fs::rename(Self::part(&self.folder, name), &path).map_err(file_error(&path))?;
        }
        Ok(())
    }
}

/// Runs a scene, or a variant of one. `progress` is told of every frame; expectations are judged at the end.
pub fn run(
    part: &Part,
    name: &str,
    options: &Options,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Summary, RunError> {
    let began = Instant::now();
    let (scene, built) = part.build()?;
    let kept = Kept::read(&part.source, &scene)?;
    let other_onset = other_onset(part.path(), &scene)?;
    let Built { mut engine, steps_per_frame, frame_count, warnings, untangled, fabric: _ } = built;
    for warning in &warnings {
        progress(Progress::Warning(warning));
    }
    let last = options.frames.map_or(frame_count, |n| n.saturating_sub(1).min(frame_count));
    let scene_check = crc32fast::hash(part.source.text.as_bytes());
    let checkpoint_path = options.folder.join("checkpoint.bin");
    let mut clock = Clock { seconds: vec![0.0; Stage::ALL.len()], running: None };
    let (mut output, mut tally, first);
    if let Some(checkpoint) = checkpoint_to_resume(&checkpoint_path, options, scene_check)? {
        if !engine.restore(checkpoint.state) {
            return Err(not_of_this_scene(&checkpoint_path));
        }
        (tally, clock.seconds, first) = (checkpoint.tally, checkpoint.seconds, checkpoint.frames);
        output = Output::resume(&options.folder, checkpoint.lengths)?;
    } else {
        let header = CacheHeader { scene: name.into(), frames_per_second: scene.time.fps };
        output = Output::create(&options.folder, header, &*engine, &body::surfaces(engine.bodies(), &scene.body))?;
        (tally, first) = (Tally::new(&*engine), 0);
    }
    if options.verify {
        engine.watch_passings();
    }
    kept.write(&options.folder).map_err(|(path, e)| file_error(&path)(e))?;
    for index in first..=last {
        if index > 0 {
            for _ in 0..steps_per_frame {
                step(&mut *engine, &mut clock, &mut tally, &mut output, &checkpoint_path)?;
            }
        }
        engine.weigh();
        tally.frame(&*engine);
        if scene.expect.crossings.is_some() {
            tally.crossings += engine.crossings() as u64;
        }
        let frame = output.frame(&*engine, index)?;
        output.write(2, &stats_row(&*engine, index, &clock))?;
        progress(Progress::Frame { index, last, tears: engine.tear_count(), frame: &frame });
        if (index + 1) % options.checkpoint_every == 0 && index < last {
            let checkpoint = CheckpointRef {
                scene_check,
                frames: index + 1,
                state: engine.state(),
                tally: &tally,
                lengths: output.flush()?,
                seconds: &clock.seconds,
            };
            checkpoint.write(&checkpoint_path).map_err(file_error(&checkpoint_path))?;
        }
    }
    output.finish()?;
    let evidence = Evidence { scene: &scene, tally: &tally, engine: &*engine, other_onset };
    export_all(options, progress)?;
    let mut seconds: BTreeMap<String, f64> =
        Stage::ALL.iter().map(|&stage| (stage.name().to_string(), clock.seconds[stage as usize])).collect();
    seconds.insert("total".into(), began.elapsed().as_secs_f64());
    let mut summary = Summary::of(name, &evidence, last + 1, seconds);
    summary.untangled = untangled;
    if last < frame_count {
        // A run cut short promises nothing.
        summary.expectations.clear();
    }
    let target = options.folder.join("summary.json");
    let text = serde_json::to_string_pretty(&summary).expect("numbers, texts and lists become JSON");
    write_whole(&target, text.as_bytes()).map_err(file_error(&target))?;
    drop(std::fs::remove_file(&checkpoint_path));
    Ok(summary)
}

fn step(
    engine: &mut dyn Engine,
    clock: &mut Clock,
    tally: &mut Tally,
    output: &mut Output,
    checkpoint: &Path,
) -> Result<(), RunError> {
    let result = engine.step(clock);
    clock.stop();
    if let Err(cause) = result {
        output.flush()?;
        let kept = if checkpoint.exists() {
            format!("last good state kept in {}", checkpoint.display())
        } else {
            format!("frames until then kept in {}", Output::part(&output.folder, FILES[0]).display())
        };
        return Err(RunError::Step { cause, kept });
    }
    for line in tally.step(engine) {
        output.write(1, &format!("{line}\n"))?;
    }
    Ok(())
}

fn not_of_this_scene(path: &Path) -> RunError {
    RunError::File {
        path: path.to_path_buf(),
        cause: "belongs to another version of the scene".into(),
        advice: "the scene file has changed since: run without --resume".into(),
    }
}

fn checkpoint_to_resume(path: &Path, options: &Options, scene_check: u32) -> Result<Option<Checkpoint>, RunError> {
    let fault = |cause: String, advice: &str| RunError::File { path: path.to_path_buf(), cause, advice: advice.into() };
    if !options.resume {
        return Ok(None);
    }
    if !path.exists() {
        return Err(fault("no checkpoint to resume from".into(), "run without --resume to start from the beginning"));
    }
    let checkpoint =
        Checkpoint::read(path).map_err(|cause| fault(cause, "run without --resume to start from the beginning"))?;
    if checkpoint.scene_check != scene_check {
        return Err(not_of_this_scene(path));
    }
    if let Some(frames) = options.frames.filter(|frames| *frames < checkpoint.frames) {
        return Err(fault(
            format!("has {} frames already, more than the {frames} asked for", checkpoint.frames),
            "ask for more with --frames, or run without --resume",
        ));
    }
    Ok(Some(checkpoint))
}

fn export_all(options: &Options, progress: &mut dyn FnMut(Progress<'_>)) -> Result<(), RunError> {
    let mut reader = CacheReader::open(options.folder.join(FILES[0]))?;
    for format in &options.formats {
        let quiet = &mut |_: export::Progress| {};
        match format {
            Format::Usda => {
                progress(Progress::Export("cloth.usda"));
                export::usda(&mut reader, options.folder.join("cloth.usda"), quiet)?;
            }
            Format::Obj => {
                progress(Progress::Export("obj"));
                export::obj(&mut reader, options.folder.join("obj"), quiet)?;
            }
            Format::Ply => {
                progress(Progress::Export("ply"));
                export::ply(&mut reader, options.folder.join("ply"), quiet)?;
            }
        }
    }
    Ok(())
}

/// Time of the first tear of the scene that `expect.onset` names: it is simulated up to there.
fn other_onset(path: &Path, scene: &Scene) -> Result<Option<f64>, RunError> {
    let Some(onset) = &scene.expect.onset else { return Ok(None) };
    let other = path.parent().unwrap_or(Path::new("")).join(&onset.like);
    let (_, Built { mut engine, steps_per_frame, frame_count, .. }) = Parts::read(&other)?.parts[0].build()?;
    for _ in 0..steps_per_frame * u64::from(frame_count) {
        engine
            .step(&mut ())
            .map_err(|cause| RunError::Step { cause, kept: format!("it was in {}", other.display()) })?;
        if let Some((torn, _)) = engine.torn().first() {
            return Ok(Some(torn.time));
        }
    }
    Ok(None)
}

fn stats_head(engine: &dyn Engine) -> String {
    let mut head = "frame,time,nodes,faces,pieces,tears,largest_strain".to_string();
    for (name, _) in engine.own_counts() {
        head += &format!(",{name}");
    }
    for (name, _) in engine.energies() {
        head += &format!(",energy_{name}");
    }
    for (name, ..) in engine.grips() {
        head += &format!(",load_{0}_x,load_{0}_y,load_{0}_z,travel_{0}", name.replace([',', ' '], "_"));
    }
    for stage in Stage::ALL {
        head += &format!(",seconds_{}", stage.name());
    }
    head + "\n"
}

fn stats_row(engine: &dyn Engine, index: u32, clock: &Clock) -> String {
    let counts = engine.counts();
    let mut row = format!(
        "{index},{},{},{},{},{},{}",
        engine.time(),
        counts.nodes,
        counts.faces,
        counts.pieces,
        engine.tear_count(),
        engine.largest_strain()
    );
    for (_, value) in engine.own_counts().into_iter().chain(engine.energies()) {
        row += &format!(",{value}");
    }
    for (_, load, shift) in engine.grips() {
        let [x, y, z] = load.to_array();
        row += &format!(",{x},{y},{z},{}", shift.length());
    }
    for seconds in &clock.seconds {
        row += &format!(",{seconds:.4}");
    }
    row + "\n"
}
