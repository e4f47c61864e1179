//! Well-known binary to the values of GEOMETRY columns: an SRID, and the same in little endian.
//!
//! ```text
//! order (1) | kind (4) | a point: x, y | a line: count, points | a polygon: count, lines | others: count, shapes
//! ```
//!
//! Source: OGC 06-103r4, section 8; MySQL 9.7, `sql/spatial.h`.

use sources::batch::{Cells, RefusedCell};
use values::Reason;

use super::CheckedCells;

/// Shapes inside of each other at most.
const DEPTH_MAX: usize = 32;
/// Bytes of a point, and bytes that a message shows.
const POINT_BYTES: usize = 16;
const SHOWN_BYTES: usize = 24;

/// The bytes that the server stores for values in well-known binary.
pub(super) fn with_srid(cells: Cells, srid: u32) -> CheckedCells {
    let Cells::Bytes { ends, bytes } = cells else { return cells.into() };
    let (mut out_ends, mut out, mut refused) =
        (Vec::with_capacity(ends.len()), Vec::new(), Vec::new());
    let mut start = 0;
    for (row, end) in ends.into_iter().enumerate() {
        let value = &bytes[start..end];
        let out_start = out.len();
        out.extend_from_slice(&srid.to_le_bytes());
        let mut left = value;
        if shape(&mut left, &mut out, None, DEPTH_MAX).is_none() || !left.is_empty() {
            out.truncate(out_start);
            let text = value
                .iter()
                .take(SHOWN_BYTES)
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>();
            refused.push(RefusedCell { row, text: text.into(), reason: Reason::NoGeometry });
        }
        out_ends.push(out.len());
        start = end;
    }
    CheckedCells { cells: Cells::Bytes { ends: out_ends, bytes: out }, refused }
}

/// Takes a shape off the input; of one kind, if others cannot be there. None if it is none in two dimensions.
fn shape(input: &mut &[u8], out: &mut Vec<u8>, only: Option<u32>, depth: usize) -> Option<()> {
    let is_little = match take::<1>(input)? {
        [0] => false,
        [1] => true,
        _ => return None,
    };
    let kind = number(input, is_little)?;
    if only.is_some_and(|only| only != kind) || depth == 0 {
        return None;
    }
    out.push(1);
    out.extend_from_slice(&kind.to_le_bytes());
    match kind {
        1 => points(input, out, 1, is_little),
        2 => counted_points(input, out, is_little),
        3 => {
            let rings = count(input, out, is_little)?;
            (0..rings).try_for_each(|_| counted_points(input, out, is_little))
        }
        4..=7 => {
            let shapes = count(input, out, is_little)?;
            let only = if kind == 7 { None } else { Some(kind - 3) };
            (0..shapes).try_for_each(|_| shape(input, out, only, depth - 1))
        }
        _ => None,
    }
}

fn take<const N: usize>(input: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = input.split_first_chunk::<N>()?;
    *input = rest;
    Some(*taken)
}

fn number(input: &mut &[u8], is_little: bool) -> Option<u32> {
    let bytes = take::<4>(input)?;
    Some(if is_little { u32::from_le_bytes(bytes) } else { u32::from_be_bytes(bytes) })
}

fn count(input: &mut &[u8], out: &mut Vec<u8>, is_little: bool) -> Option<u32> {
    let count = number(input, is_little)?;
    out.extend_from_slice(&count.to_le_bytes());
    Some(count)
}

fn counted_points(input: &mut &[u8], out: &mut Vec<u8>, is_little: bool) -> Option<()> {
    let count = count(input, out, is_little)?;
    points(input, out, count, is_little)
}

fn points(input: &mut &[u8], out: &mut Vec<u8>, count: u32, is_little: bool) -> Option<()> {
    let bytes = (count as usize).checked_mul(POINT_BYTES)?;
    let (points, rest) = input.split_at_checked(bytes)?;
    *input = rest;
    for bytes in points.as_chunks::<8>().0 {
        let ordinate =
            if is_little { f64::from_le_bytes(*bytes) } else { f64::from_be_bytes(*bytes) };
        if !ordinate.is_finite() {
            return None;
        }
        out.extend_from_slice(&ordinate.to_le_bytes());
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(x: f64, y: f64) -> Vec<u8> {
        [&[1, 1, 0, 0, 0][..], &x.to_le_bytes(), &y.to_le_bytes()].concat()
    }

    fn stored(value: &[u8]) -> Option<Vec<u8>> {
        let cells = Cells::Bytes { ends: vec![value.len()], bytes: value.to_vec() };
        let made = with_srid(cells, 4326);
        match (made.cells, made.refused.is_empty()) {
            (Cells::Bytes { bytes, .. }, true) => Some(bytes),
            _ => None,
        }
    }

    #[test]
    fn shapes_get_an_srid_and_little_endian() {
        let srid = 4326u32.to_le_bytes();
        let expected = [&srid[..], &point(1.0, 2.0)].concat();
        assert_eq!(stored(&point(1.0, 2.0)).as_deref(), Some(&expected[..]));
        let big = [&[0, 0, 0, 0, 1][..], &1f64.to_be_bytes(), &2f64.to_be_bytes()].concat();
        assert_eq!(stored(&big).as_deref(), Some(&expected[..]));
        let many = [&[1, 4, 0, 0, 0, 2, 0, 0, 0][..], &point(0.0, 0.0), &point(3.0, 4.0)].concat();
        assert_eq!(stored(&many).map(|bytes| bytes.len()), Some(4 + many.len()));
        let line = [&[1, 2, 0, 0, 0, 1, 0, 0, 0][..], &[0; 16]].concat();
        assert!(stored(&line).is_some());
    }

    #[test]
    fn other_bytes_are_no_shapes() {
        let z = [&[1, 0xe9, 3, 0, 0][..], &[0; 24]].concat();
        let nested = [1, 7, 0, 0, 0, 1, 0, 0, 0].repeat(40);
        let wrong = [&[1, 4, 0, 0, 0, 1, 0, 0, 0][..], &[1, 2, 0, 0, 0, 0, 0, 0, 0]].concat();
        let claims = [1, 2, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
        let behind = [&point(0.0, 0.0)[..], &[0]].concat();
        for bytes in
            [&b"POINT(1 2)"[..], b"", &z, &nested, &wrong, &claims, &behind, &point(f64::NAN, 0.0)]
        {
            assert_eq!(stored(bytes), None, "{bytes:?}");
        }
    }
}
