//! Contact sheet: several pictures side by side with captions, as one picture.

use crate::colour::{encode_rgb, srgb};
use crate::error::RenderError;
use crate::font::{TextSize, write};
use crate::look::Look;
use image::{Rgb, RgbImage};

/// A picture and what is written under it.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// The picture.
    pub picture: &'a RgbImage,
    /// Its caption; too long a one is cut with an ellipsis.
    pub caption: &'a str,
}

/// Lays the cells out in rows of `columns`, in reading order. Cells are as large as the largest picture; smaller ones are
/// centred.
pub fn contact(cells: &[Cell], columns: usize) -> Result<RgbImage, RenderError> {
    let columns = columns.clamp(1, cells.len().max(1)) as u32;
    let rows = (cells.len() as u32).div_ceil(columns);
    let cell_width = cells.iter().map(|c| c.picture.width()).max().unwrap_or(0);
    let cell_height = cells.iter().map(|c| c.picture.height()).max().unwrap_or(0);
    let size = TextSize::for_height(cell_height.max(1));
    let (gap, foot) = (size.height() / 2, size.height() + size.height() / 2);
    let width = columns.saturating_mul(cell_width.saturating_add(gap)).saturating_add(gap);
    let height = rows.saturating_mul(cell_height.saturating_add(foot).saturating_add(gap)).saturating_add(gap);
    let largest = Look::LARGEST_SIDE * 2;
    if cell_width == 0 || cell_height == 0 || width > largest || height > largest {
        return Err(RenderError::Size { width, height, largest });
    }
    let mut sheet = RgbImage::from_pixel(width, height, Rgb(encode_rgb(srgb(0xf4f2ee))));
    for (i, cell) in cells.iter().enumerate() {
        let (column, row) = (i as u32 % columns, i as u32 / columns);
        let left = gap + column * (cell_width + gap);
        let top = gap + row * (cell_height + foot + gap);
        let x = left + (cell_width - cell.picture.width()) / 2;
        let y = top + (cell_height - cell.picture.height()) / 2;
        image::imageops::replace(&mut sheet, cell.picture, x as i64, y as i64);
        let caption = fitted(cell.caption, size, cell_width);
        let start = left + (cell_width - size.width(&caption).min(cell_width)) / 2;
        let line = top + cell_height + (foot - size.height()) / 2;
        write(&mut sheet, &caption, start as i64, line as i64, size, srgb(0x26282c));
    }
    Ok(sheet)
}

/// `text`, cut to `width` pixels.
fn fitted(text: &str, size: TextSize, width: u32) -> String {
    if size.width(text) <= width {
        return text.into();
    }
    let room = (width / size.width("m").max(1)).saturating_sub(2) as usize;
    text.chars().take(room).chain("..".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_stand_in_reading_order_over_their_captions() {
        let colours = [[200, 0, 0], [0, 200, 0], [0, 0, 200]];
        let pictures = colours.map(|c| RgbImage::from_pixel(80, 40, Rgb(c)));
        let captions = ["one", "two", "a caption far too long for so small a picture"];
        let cells: Vec<Cell> =
            pictures.iter().zip(captions).map(|(picture, caption)| Cell { picture, caption }).collect();
        let sheet = contact(&cells, 2).unwrap();
        assert_eq!(sheet.dimensions(), (2 * 88 + 8, 2 * (40 + 24 + 8) + 8));
        assert_eq!(sheet.get_pixel(48, 28).0, colours[0]);
        assert_eq!(sheet.get_pixel(48 + 88, 28).0, colours[1]);
        assert_eq!(sheet.get_pixel(48, 28 + 72).0, colours[2]);
        // There is dark writing under the first.
        let dark = (8..88).flat_map(|x| (50..72).map(move |y| (x, y))).any(|(x, y)| sheet.get_pixel(x, y).0[0] < 90);
        assert!(dark);
        // The long caption stays in its own cell.
        assert!((0..144).all(|y| sheet.get_pixel(92, y).0[0] > 200 || y < 80));
    }

    #[test]
    fn nothing_to_show_is_an_error() {
        assert!(matches!(contact(&[], 3), Err(RenderError::Size { .. })));
    }
}
