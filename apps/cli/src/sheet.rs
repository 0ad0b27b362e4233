//! `ripstop sheet`

use crate::pictures::{PictureArgs, Run, Size};
use crate::render::drawing_bar;
use crate::{End, say};
use anyhow::Result;
use ripstop_render::sheet::{Cell, contact};
use ripstop_render::{RgbImage, save};
use std::path::{Path, PathBuf};

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
    write(&args.folders, args.columns.map(usize::from), &args.pictures, &args.output)?;
    Ok(End::Done)
}

/// Draws the key picture of every run into one file.
pub fn write(folders: &[PathBuf], columns: Option<usize>, pictures: &PictureArgs, output: &Path) -> Result<()> {
    let bar = drawing_bar("sheet", folders.len());
    let mut cells: Vec<(RgbImage, String)> = Vec::new();
    for folder in folders {
        let mut run = Run::open(folder)?;
        let picture = run.key_picture(pictures, pictures.still_of(CELL))?;
        cells.push((picture, format!("{}: {}", run.name, run.scene.title)));
        bar.inc(1);
    }
    bar.finish_and_clear();
    let columns = columns.unwrap_or_else(|| (1..).find(|n| n * n >= cells.len()).unwrap_or(1));
    let cells: Vec<Cell<'_>> = cells.iter().map(|(picture, caption)| Cell { picture, caption }).collect();
    save(&contact(&cells, columns)?, output)?;
    say(format!("{} runs -> {}", cells.len(), output.display()));
    Ok(())
}
