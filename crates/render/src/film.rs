//! Film: H.264 in MP4, made without any program on the machine; plays in browsers and players.
//!
//! `openh264` encodes (its source is compiled in), `muxide` writes the MP4 with the index in front, so that a browser starts
//! at once. Frames are encoded as they come; only the encoded film is held (some 10 kB per frame). Until
//! [`Film::finish`] everything is in `NAME.tmp`, which a dropped film removes: nothing half-written looks finished.
//!
//! Colour: R′G′B′ to Y′CbCr by Rec. 709, limited range, in whole numbers (the same film on every machine):
//! `Y = 16 + 219(0.2126 R + 0.7152 G + 0.0722 B)`, `Cb = 128 + 224 (B − Y)/1.8556`, `Cr = 128 + 224 (R − Y)/1.5748`,
//! chroma as the mean of 2 × 2 pixels. A picture of odd width or height is widened by repeating its last column or row.
//! Quality is constant ([`QUANTISER`]), not the rate.

use crate::error::RenderError;
use image::RgbImage;
use muxide::api::{Muxer, MuxerBuilder, VideoCodec};
use openh264::OpenH264API;
use openh264::encoder::{
    Encoder, EncoderConfig, FrameRate, FrameType, IntraFramePeriod, QpRange, RateControlMode, VuiConfig,
};
use openh264::formats::YUVSlices;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Least and greatest quantiser: about where smooth gradients stop showing steps.
pub const QUANTISER: (u8, u8) = (16, 21);

/// A film being written.
pub struct Film {
    path: PathBuf,
    temporary: PathBuf,
    /// Size of pictures taken [px].
    size: (u32, u32),
    fps: f64,
    frame_count: usize,
    encoder: Encoder,
    muxer: Option<Muxer<BufWriter<File>>>,
    planes: [Vec<u8>; 3],
}

impl Film {
    /// Starts a film of `width` × `height` pictures, `fps` per second, to be `path` when finished.
    pub fn create(path: &Path, width: u32, height: u32, fps: f64) -> Result<Self, RenderError> {
        // The encoder's own limit (H.264 level 5.2).
        let largest = 3840;
        if width == 0 || height == 0 || width > largest || height > largest {
            return Err(RenderError::Size { width, height, largest });
        }
        if !(1.0..=240.0).contains(&fps) {
            let advice = "give 1 to 240 pictures per second, e.g. 30";
            return Err(RenderError::Setting { what: "fps of the film", value: fps.to_string(), advice });
        }
        let (even_width, even_height) = (width.next_multiple_of(2), height.next_multiple_of(2));
        let config = EncoderConfig::new()
            .skip_frames(false)
            .rate_control_mode(RateControlMode::Off)
            .qp(QpRange::new(QUANTISER.0, QUANTISER.1))
            .max_frame_rate(FrameRate::from_hz(fps as f32))
            .intra_frame_period(IntraFramePeriod::from_num_frames((fps * 2.0) as u32))
            .background_detection(false)
            .num_threads(1)
            .vui(VuiConfig::bt709());
        let encoder = Encoder::with_api_config(OpenH264API::from_source(), config).map_err(|e| RenderError::Film {
            path: path.into(),
            frame: 0,
            cause: e.to_string(),
        })?;
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".tmp");
        let temporary = path.with_file_name(name);
        let file = File::create(&temporary).map_err(|e| write_error(&temporary, &e))?;
        let muxer = MuxerBuilder::new(BufWriter::new(file))
            .video(VideoCodec::H264, even_width, even_height, fps)
            .with_fast_start(true)
            .build()
            .map_err(|e| RenderError::Film { path: path.into(), frame: 0, cause: e.to_string() });
        let muxer = muxer.inspect_err(|_| drop(std::fs::remove_file(&temporary)))?;
        let luma = (even_width * even_height) as usize;
        let planes = [vec![0; luma], vec![0; luma / 4], vec![0; luma / 4]];
        let path = path.to_owned();
        Ok(Self { path, temporary, size: (width, height), fps, frame_count: 0, encoder, muxer: Some(muxer), planes })
    }

    /// Pictures taken so far.
    pub fn frame_count(&self) -> usize {
        self.frame_count
    }

    /// Adds the next picture; it must have the film's size.
    pub fn push(&mut self, picture: &RgbImage) -> Result<(), RenderError> {
        if picture.dimensions() != self.size {
            let (width, height) = picture.dimensions();
            let cause = format!("picture is {width}×{height}, the film {}×{}", self.size.0, self.size.1);
            return Err(RenderError::Film { path: self.path.clone(), frame: self.frame_count, cause });
        }
        let (width, height) = even(self.size);
        to_planes(picture, &mut self.planes);
        let [y, cb, cr] = &self.planes;
        let source = YUVSlices::new((y, cb, cr), (width, height), (width, width / 2, width / 2));
        let (path, frame) = (&self.path, self.frame_count);
        let fail = |cause: String| RenderError::Film { path: path.clone(), frame, cause };
        let encoded = self.encoder.encode(&source).map_err(|e| fail(e.to_string()))?;
        let is_key = matches!(encoded.frame_type(), FrameType::IDR | FrameType::I);
        let bytes = encoded.to_vec();
        let Some(muxer) = &mut self.muxer else { return Err(fail("the film is already finished".into())) };
        muxer.write_video(frame as f64 / self.fps, &bytes, is_key).map_err(|e| fail(e.to_string()))?;
        self.frame_count += 1;
        Ok(())
    }

    /// Writes the film out and gives it its name. A film without pictures is an error.
    pub fn finish(mut self) -> Result<(), RenderError> {
        let Some(mut muxer) = self.muxer.take() else { return Ok(()) };
        if self.frame_count == 0 {
            return Err(RenderError::Film { path: self.path.clone(), frame: 0, cause: "it has no pictures".into() });
        }
        let failed = |cause: String| RenderError::Write { path: self.temporary.clone(), cause };
        muxer.finish_in_place().map_err(|e| failed(e.to_string()))?;
        let mut writer = muxer.into_writer();
        writer.flush().map_err(|e| failed(e.to_string()))?;
        writer.get_ref().sync_all().map_err(|e| failed(e.to_string()))?;
        drop(writer);
        std::fs::rename(&self.temporary, &self.path).map_err(|e| write_error(&self.path, &e))
    }
}

impl Drop for Film {
    fn drop(&mut self) {
        // After a finished film there is no such file any more; otherwise it is of no use.
        drop(self.muxer.take());
        let _ = std::fs::remove_file(&self.temporary);
    }
}

fn write_error(path: &Path, error: &std::io::Error) -> RenderError {
    RenderError::Write { path: path.to_owned(), cause: error.to_string() }
}

fn even((width, height): (u32, u32)) -> (usize, usize) {
    (width.next_multiple_of(2) as usize, height.next_multiple_of(2) as usize)
}

/// Coefficients in 1/65536, with their rounding: for Y, Cb and Cr of R, G, B bytes.
const MATRIX: [[i32; 3]; 3] = [[11966, 40254, 4064], [-6596, -22189, 28784], [28784, -26145, -2640]];

fn to_planes(picture: &RgbImage, planes: &mut [Vec<u8>; 3]) {
    let (width, height) = even(picture.dimensions());
    let (last_x, last_y) = (picture.width() as usize - 1, picture.height() as usize - 1);
    let bytes = picture.as_raw();
    let at = |x: usize, y: usize| {
        let i = (y.min(last_y) * (last_x + 1) + x.min(last_x)) * 3;
        [bytes[i] as i32, bytes[i + 1] as i32, bytes[i + 2] as i32]
    };
    let mix = |m: [i32; 3], c: [i32; 3]| m[0] * c[0] + m[1] * c[1] + m[2] * c[2];
    let [luma, cb, cr] = planes;
    for y in 0..height {
        for x in 0..width {
            luma[y * width + x] = (16 + ((mix(MATRIX[0], at(x, y)) + 32768) >> 16)) as u8;
        }
    }
    for y in 0..height / 2 {
        for x in 0..width / 2 {
            let four = [at(2 * x, 2 * y), at(2 * x + 1, 2 * y), at(2 * x, 2 * y + 1), at(2 * x + 1, 2 * y + 1)];
            let sum: [i32; 3] = std::array::from_fn(|k| four.iter().map(|c| c[k]).sum());
            let i = y * (width / 2) + x;
            cb[i] = (128 + ((mix(MATRIX[1], sum) + (1 << 17)) >> 18)) as u8;
            cr[i] = (128 + ((mix(MATRIX[2], sum) + (1 << 17)) >> 18)) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use openh264::decoder::Decoder;
    use openh264::formats::YUVSource;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ripstop-film-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn picture(width: u32, height: u32, frame: u32) -> RgbImage {
        RgbImage::from_fn(width, height, |x, y| image::Rgb([(x * 3 + frame * 5) as u8, (y * 2) as u8, 90]))
    }

    /// Payload of the first box `name` among `bytes`.
    fn find<'b>(mut bytes: &'b [u8], name: &[u8; 4]) -> Option<&'b [u8]> {
        while bytes.len() >= 8 {
            let size = u32::from_be_bytes(bytes[..4].try_into().unwrap()) as usize;
            if &bytes[4..8] == name {
                return Some(&bytes[8..size]);
            }
            bytes = bytes.get(size.max(8)..)?;
        }
        None
    }

    #[test]
    fn a_film_has_its_boxes_its_frames_and_its_pictures() {
        let folder = folder("whole");
        let path = folder.join("preview.mp4");
        // Odd sizes on purpose.
        let mut film = Film::create(&path, 97, 65, 25.0).unwrap();
        for frame in 0..12 {
            film.push(&picture(97, 65, frame)).unwrap();
        }
        assert!(!path.exists() && folder.join("preview.mp4.tmp").exists());
        film.finish().unwrap();
        assert!(path.exists() && !folder.join("preview.mp4.tmp").exists());
        let bytes = std::fs::read(&path).unwrap();
        assert!(find(&bytes, b"ftyp").is_some());
        let table = [b"moov", b"trak", b"mdia", b"minf", b"stbl", b"stsz"]
            .iter()
            .fold(bytes.as_slice(), |inside, name| find(inside, name).unwrap());
        // stsz: version and flags, one size for all or 0, count.
        assert_eq!(u32::from_be_bytes(table[8..12].try_into().unwrap()), 12);
        // The first sample decodes to the first picture; parameter sets lie in it or in front of it.
        let data = find(&bytes, b"mdat").unwrap();
        let first = u32::from_be_bytes(table[12..16].try_into().unwrap()) as usize;
        let (mut stream, mut rest) = (Vec::new(), &data[..first]);
        while rest.len() > 4 {
            let size = u32::from_be_bytes(rest[..4].try_into().unwrap()) as usize;
            stream.extend([0, 0, 0, 1]);
            stream.extend(&rest[4..4 + size]);
            rest = &rest[4 + size..];
        }
        let mut decoder = Decoder::new().unwrap();
        let shown = decoder.decode(&stream).unwrap().expect("a picture");
        assert_eq!(shown.dimensions(), (98, 66));
        let mut planes = [vec![0; 98 * 66], vec![0; 49 * 33], vec![0; 49 * 33]];
        to_planes(&picture(97, 65, 0), &mut planes);
        let stride = shown.strides().0;
        let error: i32 =
            (0..66 * 98).map(|i| (shown.y()[i / 98 * stride + i % 98] as i32 - planes[0][i] as i32).abs()).sum::<i32>();
        // At quantiser 21 a smooth picture errs by one or two steps on average.
        assert!(error < 66 * 98 * 3, "mean error {}", error as f32 / (66.0 * 98.0));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_unfinished_film_leaves_nothing() {
        let folder = folder("dropped");
        let path = folder.join("a.mp4");
        let mut film = Film::create(&path, 32, 32, 25.0).unwrap();
        film.push(&picture(32, 32, 0)).unwrap();
        let wrong = film.push(&picture(16, 32, 0)).unwrap_err().to_string();
        assert!(wrong.contains("16×32"), "{wrong}");
        drop(film);
        let empty = Film::create(&path, 32, 32, 25.0).unwrap();
        assert!(empty.finish().unwrap_err().to_string().contains("no pictures"));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        let nowhere = Film::create(&folder.join("no/such/a.mp4"), 32, 32, 25.0).err().unwrap().to_string();
        assert!(nowhere.contains("can't be written") && nowhere.contains("a.mp4"));
        assert!(matches!(Film::create(&path, 0, 9, 25.0), Err(RenderError::Size { .. })));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn white_black_and_grey_have_their_textbook_values() {
        for (rgb, y) in [([255u8; 3], 235), ([0; 3], 16), ([128; 3], 126)] {
            let mut planes = [vec![0; 4], vec![0; 1], vec![0; 1]];
            to_planes(&RgbImage::from_pixel(2, 2, image::Rgb(rgb)), &mut planes);
            assert_eq!((planes[0][0], planes[1][0], planes[2][0]), (y, 128, 128));
        }
        // Pure red: Cr at its upper end.
        let mut planes = [vec![0; 4], vec![0; 1], vec![0; 1]];
        to_planes(&RgbImage::from_pixel(2, 2, image::Rgb([255, 0, 0])), &mut planes);
        assert_eq!((planes[0][0], planes[2][0]), (63, 240));
    }
}
