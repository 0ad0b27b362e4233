//! Text, numbers and files made fit for a page.

use base64::Engine;

/// Text that can stand anywhere in a page. Characters that XML forbids become spaces.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            '\n' | '\t' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push(' '),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

/// A file as part of the page.
pub fn data_uri(kind: &str, bytes: &[u8]) -> String {
    format!("data:{kind};base64,{}", base64::engine::general_purpose::STANDARD.encode(bytes))
}

/// A plot as an element of the page: the page's own language needs no name space, and the page then names no address.
pub fn inline(svg: &str) -> String {
    let svg = svg.trim_start();
    let svg = svg.strip_prefix("<?xml").and_then(|rest| rest.split_once("?>")).map_or(svg, |(_, rest)| rest);
    svg.replacen(" xmlns=\"http://www.w3.org/2000/svg\"", "", 1)
}

/// A number with four digits that count.
pub fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        0.0 => "0".into(),
        _ if !value.is_finite() => "not a number".into(),
        _ if !(1e-3..1e6).contains(&size) => format!("{value:.2e}"),
        _ if value == value.trunc() => format!("{value}"),
        _ if size < 1.0 => format!("{value:.4}"),
        _ if size < 100.0 => format!("{value:.2}"),
        _ => format!("{value:.1}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(escaped("a < \"b\" & 'c'\u{0}\n"), "a &lt; &quot;b&quot; &amp; &#39;c&#39; \n");
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (12.0, "12"),
            (0.12345, "0.1235"),
            (12.345, "12.35"),
            (1.3e-16, "1.30e-16"),
            (f64::NAN, "not a number"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn a_plot_loses_only_its_name_space() {
        let svg = "<svg a=\"1\" xmlns=\"http://www.w3.org/2000/svg\"><g/></svg>";
        assert_eq!(inline(svg), "<svg a=\"1\"><g/></svg>");
    }
}
