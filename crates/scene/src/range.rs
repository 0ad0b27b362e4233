//! What a number may be: `5`, `[2, 8]`, `{ min = 2 }`, `{ max = 8 }` or both.

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// A closed range of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
}

impl Range {
    /// True if `value` lies in it; never for NaN.
    pub fn holds(&self, value: f64) -> bool {
        value >= self.min && value <= self.max
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.min, self.max) {
            (a, b) if a == b => write!(f, "{a}"),
            (a, f64::INFINITY) => write!(f, "at least {a}"),
            (f64::NEG_INFINITY, b) => write!(f, "at most {b}"),
            (a, b) => write!(f, "{a} to {b}"),
        }
    }
}

impl<'de> Deserialize<'de> for Range {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Words;
        impl<'de> Visitor<'de> for Words {
            type Value = Range;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a number, [min, max], { min = … } or { max = … }")
            }
            fn visit_i64<E: Error>(self, v: i64) -> Result<Range, E> {
                self.visit_f64(v as f64)
            }
            fn visit_u64<E: Error>(self, v: u64) -> Result<Range, E> {
                self.visit_f64(v as f64)
            }
            fn visit_f64<E: Error>(self, v: f64) -> Result<Range, E> {
                Ok(Range { min: v, max: v })
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Range, A::Error> {
                let missing = || A::Error::custom("a range is two numbers, [min, max]");
                let (min, max) = (seq.next_element()?.ok_or_else(missing)?, seq.next_element()?.ok_or_else(missing)?);
                if seq.next_element::<f64>()?.is_some() { Err(missing()) } else { sound(Range { min, max }) }
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Range, A::Error> {
                let mut range = Range { min: f64::NEG_INFINITY, max: f64::INFINITY };
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "min" => range.min = map.next_value()?,
                        "max" => range.max = map.next_value()?,
                        other => return Err(A::Error::unknown_field(other, &["min", "max"])),
                    }
                }
                sound(range)
            }
        }
        fn sound<E: Error>(range: Range) -> Result<Range, E> {
            // Written so that a NaN is refused too.
            if range.min <= range.max { Ok(range) } else { Err(E::custom(format_args!("nothing can be {range}"))) }
        }
        deserializer.deserialize_any(Words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_spellings() {
        #[derive(serde::Deserialize)]
        struct Doc {
            r: Range,
        }
        let read = |text: &str| toml::from_str::<Doc>(&format!("r = {text}")).map(|d| d.r);
        assert_eq!(read("5").unwrap(), Range { min: 5.0, max: 5.0 });
        assert_eq!(read("[1, 2.5]").unwrap(), Range { min: 1.0, max: 2.5 });
        assert!(read("{ min = 3 }").unwrap().holds(1e9) && !read("{ min = 3 }").unwrap().holds(2.9));
        assert!(read("[3, 1]").is_err() && read("{ min = 3, max = 1 }").is_err() && read("{ min = nan }").is_err());
        assert!(read("{ most = 3 }").is_err() && read("[1]").is_err() && read("'x'").is_err());
        assert!(!read("{ min = 3 }").unwrap().holds(f64::NAN));
        assert_eq!(read("{ max = 3 }").unwrap().to_string(), "at most 3");
    }
}
