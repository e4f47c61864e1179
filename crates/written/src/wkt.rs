//! Shapes in well-known text, to the bytes that servers keep of them.
//!
//! ```text
//! SRID=4326;POINT(1 2)
//! e6100000 01 01000000 000000000000f03f 0000000000000040
//! SRID     |  kind     numbers
//!          byte order
//! ```
//!
//! The first number is x on every server; MySQL's ST_GeomFromText takes it for the latitude where the SRID says so.
//!
//! The grammar is that of ST_GeomFromText, which also drops text behind a shape: that is refused here. The
//! points of a MULTIPOINT may be in parentheses, as the standard and other programs write them.
//!
//! Source: MariaDB 10.11, sql/spatial.cc, `create_from_wkt` and `init_from_wkt`.

use values::ShapeKind as Kind;
use values::geometry::{BYTE_ORDER, POSITION_BYTES};
use values::sql_type::SqlType;

/// The shapes that a column holds. The server judges those that a GEOMETRYCOLLECTION of MySQL takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shapes {
    All,
    Of(Kind),
}

impl Shapes {
    /// Shapes of a column; none of a column of other values.
    pub(super) fn of_column(sql_type: &SqlType) -> Option<Shapes> {
        let of = |kind| match kind {
            Kind::Collection => Shapes::All,
            kind => Shapes::Of(kind),
        };
        match sql_type {
            SqlType::Geometry { kind, .. } => Some(kind.map_or(Shapes::All, of)),
            SqlType::Opaque { declared, .. } if declared.eq_ignore_ascii_case("geometry") => {
                Some(Shapes::All)
            }
            SqlType::Opaque { declared, .. } => Kind::named(declared).map(of),
            _ => None,
        }
    }

    /// Writes the stored bytes of a shape; false if the text is other, or a shape of another kind.
    pub(super) fn read(self, text: &[u8], out: &mut Vec<u8>) -> bool {
        let mut rest = text;
        let Some(srid) = take_srid(&mut rest) else { return false };
        out.extend_from_slice(&srid.to_le_bytes());
        let found = take_shape(&mut rest, out);
        let is_held =
            found.is_some_and(|kind| matches!(self, Shapes::All) || self == Shapes::Of(kind));
        is_held && rest.trim_ascii().is_empty()
    }
}

/// The kind of a word of the text.
fn kind(word: &[u8]) -> Option<Kind> {
    std::str::from_utf8(word).ok().and_then(Kind::named)
}

/// Takes `SRID=4326;` off a text; 0 if it is not there.
fn take_srid(text: &mut &[u8]) -> Option<u32> {
    const WORD: &[u8] = b"SRID=";
    if !text.get(..WORD.len()).is_some_and(|start| start.eq_ignore_ascii_case(WORD)) {
        return Some(0);
    }
    let end = text.iter().position(|byte| *byte == b';')?;
    let number = &text[WORD.len()..end];
    *text = &text[end + 1..];
    let is_number = number.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(number).ok().filter(|_| is_number)?.parse().ok()
}

/// Takes a shape off a text.
fn take_shape(text: &mut &[u8], out: &mut Vec<u8>) -> Option<Kind> {
    *text = text.trim_ascii_start();
    let kind = kind(take_word(text))?;
    begin(kind, out);
    match kind {
        Kind::Point => take_in_parentheses(text, out, take_position)?,
        Kind::LineString => take_list(text, out, take_position)?,
        Kind::Polygon => take_list(text, out, take_ring)?,
        Kind::MultiPoint => take_list(text, out, |text, out| {
            begin(Kind::Point, out);
            match is_next(text, b'(') {
                true => take_in_parentheses(text, out, take_position),
                false => take_position(text, out),
            }
        })?,
        Kind::MultiLineString => take_list(text, out, |text, out| {
            begin(Kind::LineString, out);
            take_list(text, out, take_position)
        })?,
        Kind::MultiPolygon => take_list(text, out, |text, out| {
            begin(Kind::Polygon, out);
            take_list(text, out, take_ring)
        })?,
        Kind::Collection => take_collection(text, out)?,
    }
    Some(kind)
}

/// Takes what is behind GEOMETRYCOLLECTION. Servers know no collection in another one.
fn take_collection(text: &mut &[u8], out: &mut Vec<u8>) -> Option<()> {
    let is_empty = match is_next(text, b'(') {
        true => text.get(1..)?.trim_ascii_start().first() == Some(&b')'),
        false => {
            take_word(text).eq_ignore_ascii_case(b"EMPTY").then_some(())?;
            out.extend_from_slice(&0u32.to_le_bytes());
            return Some(());
        }
    };
    if is_empty {
        take(text, b'(')?;
        out.extend_from_slice(&0u32.to_le_bytes());
        return take(text, b')');
    }
    take_list(text, out, |text, out| {
        let kind = take_shape(text, out)?;
        (kind != Kind::Collection).then_some(())
    })
}

/// Appends the head of a shape.
fn begin(kind: Kind, out: &mut Vec<u8>) {
    out.push(BYTE_ORDER);
    out.extend_from_slice(&(kind as u32).to_le_bytes());
}

type Take = fn(&mut &[u8], &mut Vec<u8>) -> Option<()>;

/// Takes a list with at least one item off a text, and appends its length before the items.
fn take_list(text: &mut &[u8], out: &mut Vec<u8>, item: Take) -> Option<()> {
    take(text, b'(')?;
    let (at, mut count) = (out.len(), 0u32);
    out.extend_from_slice(&count.to_le_bytes());
    loop {
        item(text, out)?;
        count += 1;
        if !is_next(text, b',') {
            break;
        }
        take(text, b',')?;
    }
    out[at..at + 4].copy_from_slice(&count.to_le_bytes());
    take(text, b')')
}

fn take_in_parentheses(text: &mut &[u8], out: &mut Vec<u8>, item: Take) -> Option<()> {
    take(text, b'(')?;
    item(text, out)?;
    take(text, b')')
}

/// Takes a list of positions whose first one is its last.
fn take_ring(text: &mut &[u8], out: &mut Vec<u8>) -> Option<()> {
    let start = out.len() + 4;
    take_list(text, out, take_position)?;
    let position = |bytes: &[u8]| {
        let (numbers, _) = bytes.as_chunks::<8>();
        numbers.iter().map(|number| f64::from_le_bytes(*number)).collect::<Vec<f64>>()
    };
    let first = position(&out[start..start + POSITION_BYTES]);
    (first == position(&out[out.len() - POSITION_BYTES..])).then_some(())
}

fn take_position(text: &mut &[u8], out: &mut Vec<u8>) -> Option<()> {
    for _ in 0..2 {
        out.extend_from_slice(&take_number(text)?.to_le_bytes());
    }
    Some(())
}

/// Takes a number off a text. It begins with a digit or a sign.
fn take_number(text: &mut &[u8]) -> Option<f64> {
    *text = text.trim_ascii_start();
    let digits = |at: usize| text[at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut end = usize::from(matches!(text.first(), Some(b'+' | b'-')));
    let whole = digits(end);
    let has_sign = end > 0;
    end += whole;
    if text.get(end) == Some(&b'.') {
        end += 1 + digits(end + 1);
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits((end + 1 + sign).min(text.len()));
        end += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    let (number, rest) = text.split_at(end);
    *text = rest;
    let number: f64 = std::str::from_utf8(number).ok()?.parse().ok()?;
    ((has_sign || whole > 0) && number.is_finite()).then_some(number)
}

/// Takes letters off a text.
fn take_word<'t>(text: &mut &'t [u8]) -> &'t [u8] {
    let count = text.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let (word, rest) = text.split_at(count);
    *text = rest;
    word
}

/// Skips blanks; true if this byte comes next.
fn is_next(text: &mut &[u8], byte: u8) -> bool {
    *text = text.trim_ascii_start();
    text.first() == Some(&byte)
}

fn take(text: &mut &[u8], byte: u8) -> Option<()> {
    is_next(text, byte).then(|| *text = &text[1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(column: &str, text: &str) -> Option<String> {
        let mut out = Vec::new();
        let column = SqlType::Opaque { declared: column.to_owned(), is_text: false };
        let is_read = Shapes::of_column(&column)?.read(text.as_bytes(), &mut out);
        is_read.then(|| out.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    #[test]
    fn shapes_are_stored_with_their_reference_system() {
        let point = "0101000000000000000000f03f0000000000000040";
        let of = |srid: &str| Some(format!("{srid}{point}"));
        assert_eq!(read("point", "POINT(1 2)"), of("00000000"));
        assert_eq!(read("geometry", "SRID=4326;Point ( 1.0\t+2e0 ) "), of("e6100000"));
        assert_eq!(read("geometrycollection", "srid=4294967295;POINT(1 2)"), of("ffffffff"));
        let both = Some(format!("00000000010400000001000000{point}"));
        assert_eq!(read("multipoint", "MULTIPOINT(1 2)"), both);
        assert_eq!(read("multipoint", "MULTIPOINT((1 2))"), both);
        let empty = Some("00000000010700000000000000".to_owned());
        assert_eq!(read("geometry", "GEOMETRYCOLLECTION EMPTY"), empty);
    }

    #[test]
    fn other_text_is_no_shape() {
        assert_eq!(Shapes::of_column(&SqlType::Blob { bytes_max: 255 }), None);
        for (column, text) in [
            ("linestring", "POINT(1 2)"),
            ("geometry", ""),
            ("geometry", "POINT(1 2) x"),
            ("geometry", "POINT Z(1 2 3)"),
            ("geometry", "POINT(1e999 2)"),
            ("geometry", "SRID=4294967296;POINT(1 2)"),
            ("geometry", "SRID=;POINT(1 2)"),
            ("geometry", "SRID=+1;POINT(1 2)"),
            ("geometry", "SRID=4326"),
            ("geometry", "POLYGON((0 0,1 0,1 1))"),
            ("geometry", "GEOMETRYCOLLECTION(GEOMETRYCOLLECTION(POINT(1 1)))"),
            ("geometry", "GEOMETRYCOLLECTION"),
            ("geometry", "GEOMETRYCOLLECTION("),
        ] {
            assert_eq!(read(column, text), None, "{column}: {text}");
        }
    }
}
