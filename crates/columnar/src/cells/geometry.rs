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

/// Kinds of shapes: a polygon, and one that has shapes of all kinds but its own.
const POLYGON: u32 = 3;
const COLLECTION: u32 = 7;
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
        if shape(&mut left, &mut out, None).is_none() || !left.is_empty() {
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

/// Takes a shape off the input, inside of a shape of some kind. None if it is none in two dimensions.
///
/// Shapes are those that have a text: `written::wkt`.
fn shape(input: &mut &[u8], out: &mut Vec<u8>, parent: Option<u32>) -> Option<()> {
    let is_little = match take::<1>(input)? {
        [0] => false,
        [1] => true,
        _ => return None,
    };
    let kind = number(input, is_little)?;
    let fits = match parent {
        None => true,
        Some(COLLECTION) => kind != COLLECTION,
        Some(parent) => kind == parent - 3,
    };
    fits.then_some(())?;
    out.push(1);
    out.extend_from_slice(&kind.to_le_bytes());
    if kind == 1 {
        return points(input, out, 1, is_little);
    }
    let count = number(input, is_little)?;
    if count == 0 && kind != COLLECTION {
        return None;
    }
    out.extend_from_slice(&count.to_le_bytes());
    match kind {
        2 => points(input, out, count, is_little),
        POLYGON => (0..count).try_for_each(|_| ring(input, out, is_little)),
        4..=COLLECTION => (0..count).try_for_each(|_| shape(input, out, Some(kind))),
        _ => None,
    }
}

/// Takes a ring: a line that ends where it begins.
fn ring(input: &mut &[u8], out: &mut Vec<u8>, is_little: bool) -> Option<()> {
    let count = number(input, is_little)?;
    out.extend_from_slice(&count.to_le_bytes());
    let start = out.len();
    points(input, out, count, is_little)?;
    let ring = &out[start..];
    let is_closed = ring.first_chunk::<POINT_BYTES>()? == ring.last_chunk::<POINT_BYTES>()?;
    is_closed.then_some(())
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
    use std::collections::HashMap;
    use std::sync::Arc;

    use arrow_array::{ArrayRef, BinaryArray, BinaryViewArray, LargeBinaryArray};
    use arrow_schema::Field;
    use values::SqlType;

    use super::*;
    use crate::cells::made;
    use crate::fit::SRID;

    fn point(x: f64, y: f64) -> Vec<u8> {
        [&[1, 1, 0, 0, 0][..], &x.to_le_bytes(), &y.to_le_bytes()].concat()
    }

    /// A polygon of one ring.
    fn polygon(ring: &[u8]) -> Vec<u8> {
        let point = |x: &u8| [f64::from(*x).to_le_bytes(), 0f64.to_le_bytes()].concat();
        let points = ring.iter().flat_map(point).collect::<Vec<u8>>();
        [&[1, 3, 0, 0, 0, 1, 0, 0, 0, ring.len() as u8, 0, 0, 0][..], &points].concat()
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
        let all = [&[1, 7, 0, 0, 0, 2, 0, 0, 0][..], &line, &polygon(&[0, 1, 0])].concat();
        assert!(stored(&all).is_some());
        assert!(stored(&[1, 7, 0, 0, 0, 0, 0, 0, 0]).is_some());
    }

    #[test]
    fn other_bytes_are_no_shapes() {
        let z = [&[1, 0xe9, 3, 0, 0][..], &[0; 24]].concat();
        let nested = [1, 7, 0, 0, 0, 1, 0, 0, 0, 1, 7, 0, 0, 0, 0, 0, 0, 0];
        let (no_points, no_rings) = ([1, 2, 0, 0, 0, 0, 0, 0, 0], [1, 3, 0, 0, 0, 0, 0, 0, 0]);
        let wrong = [&[1, 4, 0, 0, 0, 1, 0, 0, 0][..], &[1, 2, 0, 0, 0, 0, 0, 0, 0]].concat();
        let claims = [1, 2, 0, 0, 0, 0xff, 0xff, 0xff, 0xff];
        let behind = [&point(0.0, 0.0)[..], &[0]].concat();
        for bytes in
            [&b"POINT(1 2)"[..], b"", &z, &nested, &wrong, &claims, &behind, &point(f64::NAN, 0.0)]
                .into_iter()
                .chain([&no_points[..], &no_rings, &polygon(&[0, 1]), &polygon(&[])])
        {
            assert_eq!(stored(bytes), None, "{bytes:?}");
        }
    }

    #[test]
    fn shapes_in_binary_of_all_sizes_get_their_srid() {
        let value = point(1.0, 2.0);
        let bytes = || vec![&value[..]];
        let arrays: [ArrayRef; 3] = [
            Arc::new(BinaryArray::from_vec(bytes())),
            Arc::new(LargeBinaryArray::from_vec(bytes())),
            Arc::new(BinaryViewArray::from_iter_values(bytes())),
        ];
        for array in arrays {
            let srid = HashMap::from([(SRID.to_owned(), "4326".to_owned())]);
            let field = Field::new("g", array.data_type().clone(), true).with_metadata(srid);
            let geometry = SqlType::Opaque { declared: "geometry".to_owned(), is_text: false };
            let made = made(&array, &field, Some(&geometry), 1 << 20).map(|made| made.cells);
            let Ok(Cells::Bytes { bytes, .. }) = made else { panic!("no bytes") };
            assert_eq!(bytes[..4], 4326u32.to_le_bytes(), "{}", array.data_type());
        }
    }
}
