//! Numbers as text, many millions of them.

use std::io::Write;

/// Appends the shortest text that reads back as the same number.
#[inline]
pub(super) fn put_f32(out: &mut Vec<u8>, x: f32) {
    let written = if x == 0.0 || (1e-4..1e7).contains(&x.abs()) {
        write!(out, "{x}")
    } else {
        // Plain notation would spell out up to 45 zeros.
        write!(out, "{x:e}")
    };
    written.expect("memory takes all that is written to it");
}

/// Appends a whole number.
#[inline]
pub(super) fn put_u32(out: &mut Vec<u8>, x: u32) {
    write!(out, "{x}").expect("memory takes all that is written to it");
}

/// Appends the numbers of a row with `between` between them.
#[inline]
pub(super) fn put_row(out: &mut Vec<u8>, row: &[f32], between: &[u8]) {
    for (k, &x) in row.iter().enumerate() {
        if k > 0 {
            out.extend_from_slice(between);
        }
        put_f32(out, x);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_reads_back_as_itself_and_is_short() {
        let mut bits = 1_u32;
        let random = std::iter::from_fn(|| {
            bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            Some(f32::from_bits(bits))
        });
        let special = [0.0, -0.0, 1.0, -2.5, 1e-4, 9.99e-5, 1e7, 0.1, f32::MAX, f32::MIN_POSITIVE, f32::from_bits(1)];
        for x in random.filter(|x| x.is_finite()).take(100_000).chain(special) {
            let mut out = Vec::new();
            put_f32(&mut out, x);
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text.parse::<f32>().unwrap().to_bits(), x.to_bits(), "{text}");
            assert!(text.len() <= 15, "{text}");
        }
    }
}
