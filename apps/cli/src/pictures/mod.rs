//! Film and stills of a run, drawn from its cache.
//!
//! Drawing comes after the simulation, not beside it: a camera that frames the whole motion and colours that mean the
//! same all along need the whole motion first, and on few cores the sum is the same. One frame is in memory at a time.
//! Every file is written beside its place and renamed when whole; if a later one fails, the earlier ones stay.

mod args;
mod artist;
mod solids;
mod survey;
mod threads;

pub use args::{PictureArgs, Size};

use anyhow::{Context, Result, bail};
use artist::Artist;
use ripstop_render::film::Film;
use ripstop_render::{Look, RgbImage, save};
use ripstop_scene::cache::CacheReader;
use ripstop_scene::{Scene, keep};
use solids::Solid;
use std::path::{Path, PathBuf};
use std::time::Instant;
use survey::{Moment, Survey};

/// Name of the film in a run's folder.
pub const FILM: &str = "preview.mp4";

/// A run that can be drawn.
pub struct Run {
    /// Where it lies.
    pub folder: PathBuf,
    /// Name of its scene.
    pub name: String,
    /// Its scene.
    pub scene: Scene,
    /// What is odd about it but doesn't stop it from being drawn.
    pub warning: Option<String>,
    reader: CacheReader,
    survey: Survey,
    solids: Vec<Solid>,
}

/// What was drawn.
#[derive(Default)]
pub struct Drawn {
    /// Stills in order of time.
    pub stills: Vec<Still>,
    /// The film.
    pub film: Option<PathBuf>,
    /// Wall-clock time [s] of both.
    pub seconds: [f64; 2],
}

/// One still.
pub struct Still {
    /// Its file.
    pub path: PathBuf,
    /// Number of its frame.
    pub index: u32,
    /// Simulated time [s].
    pub time: f64,
}

/// Opens the cache in the folder of a run, finished or not; there is a frame in it.
pub fn open_cache(folder: &Path) -> Result<CacheReader> {
    let (whole, part) = (folder.join("frames.bin"), folder.join("frames.bin.part"));
    if !folder.is_dir() {
        bail!(
            "{}: no such folder\n       give the folder that `ripstop run` wrote, such as out/lateral",
            folder.display()
        );
    }
    let cache = match (whole.exists(), part.exists()) {
        (true, _) => whole,
        (false, true) => part,
        _ => bail!("{}: not there\n       `ripstop run SCENE -o {}` makes it", whole.display(), folder.display()),
    };
    let reader = CacheReader::open(&cache)?;
    if reader.frame_count() == 0 {
        bail!("{}: no whole frame in it\n       the run ended before its first frame: run it again", cache.display());
    }
    Ok(reader)
}

impl Run {
    /// Opens the folder of a run and looks through it.
    pub fn open(folder: &Path) -> Result<Self> {
        let mut reader = open_cache(folder)?;
        let cache = reader.path().to_path_buf();
        let copy = folder.join(keep::SCENE_FILE);
        if !copy.exists() {
            bail!(
                "{}: not there, so look and camera are unknown\n       run the scene again, or copy its file there",
                copy.display()
            );
        }
        let scene = Scene::parse(&copy)?;
        let warning = (reader.left_over() > 0 || cache.extension().is_some_and(|e| e == "part")).then(|| {
            format!("{}: the run is not finished; its {} whole frames are drawn", cache.display(), reader.frame_count())
        });
        let solids: Vec<Solid> = reader.bodies()?.into_iter().map(|surface| Solid::new(surface, &scene)).collect();
        let survey = Survey::of(&mut reader, &solids)?;
        let name = reader.header().scene.clone();
        Ok(Self { folder: folder.to_path_buf(), name, scene, warning, reader, survey, solids })
    }

    /// Number of frames.
    pub fn frame_count(&self) -> usize {
        self.reader.frame_count()
    }

    /// Frames that get stills: those with the given numbers, or those the scene asks for, or those where something happens.
    pub fn stills(&self, numbers: &[u32]) -> Result<Vec<Moment>> {
        if numbers.is_empty() {
            return Ok(self.survey.stills(&self.scene.look.stills));
        }
        let moments = &self.survey.moments;
        let find = |number: &u32| moments.iter().find(|m| m.index == *number).copied();
        let missing = |number: &u32| {
            let last = moments.last().map_or(0, |m| m.index);
            format!("{}: no frame {number}\n       its frames go from 0 to {last}", self.reader.path().display())
        };
        numbers.iter().map(|number| find(number).with_context(|| missing(number))).collect()
    }

    /// Draws stills into `target`. `done` is told of each.
    pub fn draw_stills(
        &mut self,
        moments: &[Moment],
        args: &PictureArgs,
        target: &Path,
        done: &mut dyn FnMut(),
    ) -> Result<Vec<Still>> {
        let (survey, solids) = (self.survey.clone(), self.solids.clone());
        let artist = Artist::new(&self.scene, &self.folder, (&survey, &solids), args, args.still())?;
        let mut stills = Vec::new();
        for moment in moments {
            let path = target.join(format!("still-{:04}.png", moment.index));
            save(&self.picture(&artist, moment)?, &path)?;
            stills.push(Still { path, index: moment.index, time: moment.time });
            done();
        }
        Ok(stills)
    }

    /// Draws the film into `target`. `done` is told of each frame.
    pub fn draw_film(&mut self, args: &PictureArgs, target: &Path, done: &mut dyn FnMut()) -> Result<PathBuf> {
        let (survey, solids) = (self.survey.clone(), self.solids.clone());
        let look = args.film();
        let (width, height) = (look.width, look.height);
        let artist = Artist::new(&self.scene, &self.folder, (&survey, &solids), args, look)?;
        let path = target.join(FILM);
        // The encoder's limits; a scene with more frames per second plays slower.
        let fps = self.reader.header().frames_per_second.clamp(1.0, 240.0);
        let mut film = Film::create(&path, width, height, fps)?;
        for moment in &survey.moments {
            film.push(&self.picture(&artist, moment)?)?;
            done();
        }
        film.finish()?;
        Ok(path)
    }

    /// Stills and film, as `ripstop run` makes them.
    pub fn draw_all(&mut self, args: &PictureArgs, target: &Path, done: &mut dyn FnMut()) -> Result<Drawn> {
        let began = Instant::now();
        let moments = self.stills(&[])?;
        let stills = self.draw_stills(&moments, args, target, done)?;
        let stills_took = began.elapsed().as_secs_f64();
        let film = Some(self.draw_film(args, target, done)?);
        Ok(Drawn { stills, film, seconds: [stills_took, began.elapsed().as_secs_f64() - stills_took] })
    }

    /// Pictures that [`Run::draw_all`] makes.
    pub fn picture_count(&self) -> usize {
        self.survey.stills(&self.scene.look.stills).len() + self.frame_count()
    }

    /// The one picture that shows what the run is about.
    pub fn key_picture(&mut self, args: &PictureArgs, look: Look) -> Result<RgbImage> {
        let (survey, solids) = (self.survey.clone(), self.solids.clone());
        let artist = Artist::new(&self.scene, &self.folder, (&survey, &solids), args, look)?;
        let moment = survey.key().with_context(|| format!("{}: no frames", self.folder.display()))?;
        self.picture(&artist, &moment)
    }

    fn picture(&mut self, artist: &Artist<'_>, moment: &Moment) -> Result<RgbImage> {
        let frame = self.reader.frame(moment.record)?;
        let after = moment.record + 1;
        let next = artist.looks_ahead() && after < self.frame_count();
        let next = next.then(|| self.reader.frame(after)).transpose()?;
        let place = || format!("frame {} ({:.2} s) of {}", moment.index, moment.time, self.folder.display());
        artist.draw(&frame, next.as_ref(), &self.name).with_context(place)
    }
}
