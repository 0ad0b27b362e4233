//! `ripstop sheet`

use crate::pictures::{PictureArgs, Run, Size};
use crate::render::drawing_bar;
use crate::{End, say};
use anyhow::Result;
use ripstop_render::sheet::{Cell, contact};
use ripstop_render::{RgbImage, save};
use std::path::PathBuf;

/// Size of a picture in the sheet [px], if none is given.
const CELL: Size = (640, 360);

/// Arguments of `ripstop sheet`.
#[derive(clap::Args)]
pub struct Args {
    /// Folders of runs
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// The picture to write
    #[arg(short, long, value_name = "FILE", default_value = "sheet.png")]
    output: PathBuf,
    /// Pictures in a row [default: as many as make the sheet about square]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    columns: Option<u16>,
    #[command(flatten)]
    pictures: PictureArgs,
}

/// Draws the key picture of every run, side by side.
pub fn sheet(args: &Args) -> Result<End> {
    let bar = drawing_bar("sheet", args.folders.len());
    let mut cells: Vec<(RgbImage, String)> = Vec::new();
    for folder in &args.folders {
        let mut run = Run::open(folder)?;
        let picture = run.key_picture(&args.pictures, args.pictures.still_of(CELL))?;
        cells.push((picture, format!("{}: {}", run.name, run.scene.title)));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let columns = args.columns.map_or_else(|| (1..).find(|n| n * n >= cells.len()).unwrap_or(1), usize::from);
    let cells: Vec<Cell<'_>> = cells.iter().map(|(picture, caption)| Cell { picture, caption }).collect();
    save(&contact(&cells, columns)?, &args.output)?;
    say(format!("{} runs -> {}", cells.len(), args.output.display()));
    Ok(End::Done)
}
