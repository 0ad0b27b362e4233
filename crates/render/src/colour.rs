//! Colour: sRGB in and out, ordered colour maps, distinct colours, and the filmic tone curve.
//!
//! Everything is worked out in linear light (Rec. 709 primaries). Colour maps and the colours of pieces are drawn in
//! Oklab (B. Ottosson, 2020), where equal steps look equal:
//! `lab = M₂ · cbrt(M₁ · rgb)`. A map is *ordered*: its lightness L falls strictly from the lowest to the highest value,
//! so that it still reads in grey and for eyes that see no red or green.
//!
//! Tone: `y = x(2.51x + 0.03) / (x(2.43x + 0.59) + 0.14)`, the rational fit of a film curve by K. Narkowicz (2015),
//! applied to each channel after a small mixing of channels so that strong lights pale instead of turning to a pure hue.

use glam::{Vec3, vec3};
use std::sync::OnceLock;

/// A linear colour from `0xRRGGBB` in sRGB.
pub fn srgb(hex: u32) -> Vec3 {
    let channel = |shift: u32| decode(((hex >> shift) & 0xff) as f32 / 255.0);
    vec3(channel(16), channel(8), channel(0))
}

/// sRGB value 0..1 to linear light.
pub fn decode(s: f32) -> f32 {
    if s <= 0.04045 { s / 12.92 } else { libm::powf((s + 0.055) / 1.055, 2.4) }
}

/// Linear light 0..1 to sRGB 0..255, by a table of 4096 steps (square spacing: fine where sRGB is steep).
fn encode_exact(linear: f32) -> f32 {
    static TABLE: OnceLock<Vec<f32>> = OnceLock::new();
    let table = TABLE.get_or_init(|| {
        let exact = |i: i32| {
            let x = i as f32 / 4096.0;
            let l = x * x;
            let s = if l <= 0.0031308 { 12.92 * l } else { 1.055 * libm::powf(l, 1.0 / 2.4) - 0.055 };
            s * 255.0
        };
        (0..=4096).map(exact).collect()
    });
    let x = linear.clamp(0.0, 1.0).sqrt() * 4096.0;
    let i = (x as usize).min(4095);
    table[i] + (table[i + 1] - table[i]) * (x - i as f32)
}

/// Linear light 0..1 to the sRGB byte.
pub fn encode(linear: f32) -> u8 {
    (encode_exact(linear) + 0.5) as u8
}

/// Linear colour to sRGB bytes, rounded up or down by chance `grain` (0..1) in proportion: smooth gradients show no bands.
pub(crate) fn encode_grained(c: Vec3, grain: f32) -> [u8; 3] {
    [c.x, c.y, c.z].map(|x| (encode_exact(x) + 0.1 + 0.8 * grain) as u8)
}

/// Linear colour to three sRGB bytes.
pub fn encode_rgb(c: Vec3) -> [u8; 3] {
    [encode(c.x), encode(c.y), encode(c.z)]
}

/// Brightness as the eye weighs it.
pub fn luminance(c: Vec3) -> f32 {
    0.2126 * c.x + 0.7152 * c.y + 0.0722 * c.z
}

/// Filmic tone curve, linear scene light to linear display light 0..1.
pub fn film(c: Vec3) -> Vec3 {
    let mean = (c.x + c.y + c.z) / 3.0;
    let c = (c * 0.94 + Vec3::splat(mean * 0.06)).max(Vec3::ZERO);
    let curve = |x: f32| ((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14)).clamp(0.0, 1.0);
    vec3(curve(c.x), curve(c.y), curve(c.z))
}

/// Tone for figures: true to the colour below 0.76, only highlights are rolled off, so that the picture agrees with its
/// colour bar.
pub fn plain(c: Vec3) -> Vec3 {
    let peak = c.max_element();
    const KNEE: f32 = 0.76;
    if peak <= KNEE {
        return c.max(Vec3::ZERO);
    }
    let room = 1.0 - KNEE;
    let rolled = 1.0 - room * room / (peak - KNEE + room);
    (c * (rolled / peak)).clamp(Vec3::ZERO, Vec3::ONE)
}

/// Oklab lightness, a and b to linear colour, clipped to what a display can show.
pub fn oklab(l: f32, a: f32, b: f32) -> Vec3 {
    let l_ = l + 0.396_337_78 * a + 0.215_803_76 * b;
    let m_ = l - 0.105_561_346 * a - 0.063_854_17 * b;
    let s_ = l - 0.089_484_18 * a - 1.291_485_5 * b;
    let (l, m, s) = (l_ * l_ * l_, m_ * m_ * m_, s_ * s_ * s_);
    vec3(
        4.076_741_7 * l - 3.307_711_6 * m + 0.230_969_94 * s,
        -1.268_438 * l + 2.609_757_4 * m - 0.341_319_38 * s,
        -0.004_196_086_3 * l - 0.703_418_6 * m + 1.707_614_7 * s,
    )
    .clamp(Vec3::ZERO, Vec3::ONE)
}

/// Oklab with chroma and hue [degrees].
pub fn oklch(l: f32, chroma: f32, hue_degrees: f32) -> Vec3 {
    let h = hue_degrees.to_radians();
    oklab(l, chroma * libm::cosf(h), chroma * libm::sinf(h))
}

/// Oklab lightness of a linear colour.
pub fn lightness(c: Vec3) -> f32 {
    let l = libm::cbrtf(0.412_221_46 * c.x + 0.536_332_55 * c.y + 0.051_445_995 * c.z);
    let m = libm::cbrtf(0.211_903_5 * c.x + 0.680_699_5 * c.y + 0.107_396_96 * c.z);
    let s = libm::cbrtf(0.088_302_46 * c.x + 0.281_718_85 * c.y + 0.629_978_7 * c.z);
    0.210_454_26 * l + 0.793_617_8 * m - 0.004_072_047 * s
}

/// An ordered colour map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Map {
    /// Ivory, yellow, orange, red, plum: for strain.
    Heat,
    /// Ivory, green, blue, indigo: for plastic strain.
    Tide,
}

impl Map {
    /// Lightness, chroma and hue [degrees] at five equal steps.
    fn stops(self) -> [[f32; 3]; 5] {
        match self {
            Map::Heat => {
                [[0.94, 0.03, 95.0], [0.82, 0.16, 82.0], [0.66, 0.20, 48.0], [0.50, 0.19, 22.0], [0.31, 0.13, -12.0]]
            }
            Map::Tide => [
                [0.94, 0.03, 110.0],
                [0.82, 0.12, 145.0],
                [0.66, 0.12, 190.0],
                [0.48, 0.13, 245.0],
                [0.29, 0.13, 285.0],
            ],
        }
    }

    /// Colour at `t` in 0..1, clamped; linear light. By a table of 256 steps.
    pub fn at(self, t: f32) -> Vec3 {
        static TABLES: OnceLock<[Vec<Vec3>; 2]> = OnceLock::new();
        let tables = TABLES
            .get_or_init(|| [Map::Heat, Map::Tide].map(|map| (0..=256).map(|i| map.exact(i as f32 / 256.0)).collect()));
        let table = &tables[self as usize];
        let x = if t.is_nan() { 0.0 } else { t.clamp(0.0, 1.0) * 256.0 };
        let i = (x as usize).min(255);
        table[i].lerp(table[i + 1], x - i as f32)
    }

    fn exact(self, t: f32) -> Vec3 {
        let stops = self.stops();
        let x = t.clamp(0.0, 1.0) * 4.0;
        let i = (x as usize).min(3);
        let f = x - i as f32;
        let [l, c, h] = std::array::from_fn(|k| stops[i][k] + (stops[i + 1][k] - stops[i][k]) * f);
        oklch(l, c, h)
    }
}

/// Colour of piece `id`: hues a golden angle apart, three lightnesses, so that neighbours in number differ most.
pub fn piece(id: u32) -> Vec3 {
    let hue = 35.0 + 137.507_77 * (id % 360) as f32;
    let l = [0.70, 0.60, 0.79][(id % 3) as usize];
    oklch(l, 0.125, hue)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn srgb_survives_there_and_back() {
        for byte in 0..=255u32 {
            let c = srgb(byte << 16 | byte << 8 | byte);
            assert_eq!(encode_rgb(c), [byte as u8; 3]);
        }
    }

    #[test]
    fn maps_fall_in_lightness() {
        for map in [Map::Heat, Map::Tide] {
            let l: Vec<f32> = (0..=64).map(|i| lightness(map.at(i as f32 / 64.0))).collect();
            assert!(l.windows(2).all(|w| w[1] < w[0]), "{map:?} {l:?}");
            assert!(l[0] - l[64] > 0.5);
        }
    }

    #[test]
    fn tone_curves_rise_and_end_at_white() {
        for tone in [film, plain] {
            let y: Vec<f32> = (0..200).map(|i| tone(Vec3::splat(i as f32 * 0.05)).x).collect();
            assert!(y.windows(2).all(|w| w[1] >= w[0]));
            assert!(y[0] == 0.0 && y[199] > 0.95 && y[199] <= 1.0);
        }
    }

    #[test]
    fn neighbouring_pieces_differ() {
        for id in 0..40 {
            assert!(piece(id).distance(piece(id + 1)) > 0.15, "{id}");
        }
    }
}
