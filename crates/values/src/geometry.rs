//! GEOMETRY of MySQL: an SRID and well-known binary, the lowest byte first. Both are stored as they come.
//!
//! ```text
//! SRID (4) | order (1) | kind (4) | a point: x, y
//!                                 | a line: count, points
//!                                 | a polygon: count, lines
//!                                 | others: count, shapes
//! ```
//!
//! Numbers may be infinite or none, rings may be open, and any SRID is taken unless the column has one.
//!
//! Source: MySQL 8.0, sql/spatial.cc, `Geometry_well_formed_checker` and `wkb_scanner`; 9.7.4, measured.

use crate::reason::Reason;
use crate::shape_kind::ShapeKind;

/// The byte order of all numbers: the lowest byte first.
pub const BYTE_ORDER: u8 = 1;
/// Bytes of a position: two numbers.
pub const POSITION_BYTES: usize = 16;
/// Positions of the shortest line, and of the shortest ring of a polygon.
const LINE_POSITIONS_MIN: u32 = 2;
const RING_POSITIONS_MIN: u32 = 4;
/// Most collections in each other. The server's limit is its stack: some 10,000 of its default size, 1,000 of the
/// smallest.
const COLLECTIONS_MAX: u32 = 100;

/// Checks the values of a GEOMETRY column.
#[derive(Clone, Debug)]
pub(crate) struct Geometry {
    kind: Option<ShapeKind>,
    srid: Option<u32>,
}

impl Geometry {
    pub(crate) fn new(kind: Option<ShapeKind>, srid: Option<u32>) -> Geometry {
        Geometry { kind, srid }
    }

    pub(crate) fn convert(&self, value: &[u8], out: &mut Vec<u8>) -> Result<(), Reason> {
        let (srid, binary) = value.split_first_chunk().ok_or(Reason::NotAGeometry)?;
        let mut input = Input { rest: binary };
        let kind = input.shape(None, 0)?;
        let is_taken = self.kind.is_none_or(|column| column.takes(kind));
        if !is_taken || !input.rest.is_empty() {
            return Err(Reason::NotAGeometry);
        }
        let srid = u32::from_le_bytes(*srid);
        if self.srid.is_some_and(|column| column != srid) {
            return Err(Reason::OtherSrid { srid });
        }
        out.extend_from_slice(value);
        Ok(())
    }
}

/// The bytes that are left of a value.
struct Input<'v> {
    rest: &'v [u8],
}

impl Input<'_> {
    /// Takes a shape, inside of one of kind `parent`, inside of so many collections.
    fn shape(&mut self, parent: Option<ShapeKind>, depth: u32) -> Result<ShapeKind, Reason> {
        use ShapeKind::*;
        let [order] = self.take()?;
        let kind = ShapeKind::of(u32::from_le_bytes(self.take()?)).ok_or(Reason::NotAGeometry)?;
        let fits = match parent {
            None | Some(Collection) => true,
            Some(parent) => parent as u32 == kind as u32 + 3,
        };
        if order != BYTE_ORDER || !fits {
            return Err(Reason::NotAGeometry);
        }
        if kind == Point {
            self.positions(1)?;
            return Ok(kind);
        }
        if kind == LineString {
            self.line(LINE_POSITIONS_MIN)?;
            return Ok(kind);
        }
        let count = u32::from_le_bytes(self.take()?);
        if count == 0 && kind != Collection {
            return Err(Reason::NotAGeometry);
        }
        if depth == COLLECTIONS_MAX && kind == Collection {
            return Err(Reason::TooDeepGeometry);
        }
        for _ in 0..count {
            match kind {
                Polygon => self.line(RING_POSITIONS_MIN)?,
                _ => _ = self.shape(Some(kind), depth + 1)?,
            }
        }
        Ok(kind)
    }

    /// Takes the positions of a line that has at least so many.
    fn line(&mut self, positions_min: u32) -> Result<(), Reason> {
        let count = u32::from_le_bytes(self.take()?);
        if count < positions_min {
            return Err(Reason::NotAGeometry);
        }
        self.positions(count as usize)
    }

    fn positions(&mut self, count: usize) -> Result<(), Reason> {
        let bytes = count.checked_mul(POSITION_BYTES);
        let rest = bytes.and_then(|bytes| self.rest.get(bytes..)).ok_or(Reason::NotAGeometry)?;
        self.rest = rest;
        Ok(())
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Reason> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or(Reason::NotAGeometry)?;
        self.rest = rest;
        Ok(*taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(kind: ShapeKind, count: Option<u32>, inner: &[u8]) -> Vec<u8> {
        let count = count.map(u32::to_le_bytes);
        [&[1][..], &(kind as u32).to_le_bytes(), count.as_ref().map_or(&[], |c| &c[..]), inner]
            .concat()
    }

    fn point() -> Vec<u8> {
        shape(ShapeKind::Point, None, &[7; 16])
    }

    fn line(positions: u32) -> Vec<u8> {
        shape(ShapeKind::LineString, Some(positions), &vec![0xff; positions as usize * 16])
    }

    fn polygon(positions: u32) -> Vec<u8> {
        let ring = [&positions.to_le_bytes()[..], &vec![9; positions as usize * 16]].concat();
        shape(ShapeKind::Polygon, Some(1), &ring)
    }

    fn convert(kind: Option<ShapeKind>, srid: Option<u32>, binary: &[u8]) -> Result<(), Reason> {
        let value = [&4326u32.to_le_bytes()[..], binary].concat();
        let mut out = Vec::new();
        let converted = Geometry::new(kind, srid).convert(&value, &mut out);
        assert_eq!(out == value, converted.is_ok());
        converted
    }

    fn collections(count: usize) -> Vec<u8> {
        let outer = shape(ShapeKind::Collection, Some(1), &[]).repeat(count - 1);
        [outer, shape(ShapeKind::Collection, Some(0), &[])].concat()
    }

    #[test]
    fn shapes_are_taken_as_the_server_does() {
        use ShapeKind::*;
        for good in [
            point(),
            line(2),
            polygon(4),
            shape(MultiPoint, Some(2), &point().repeat(2)),
            shape(MultiLineString, Some(1), &line(3)),
            shape(MultiPolygon, Some(1), &polygon(5)),
            shape(Collection, Some(0), &[]),
            shape(Collection, Some(2), &[point(), shape(Collection, Some(1), &line(2))].concat()),
            collections(100),
        ] {
            assert_eq!(convert(None, None, &good), Ok(()), "{good:?}");
        }
    }

    #[test]
    fn other_bytes_are_no_geometry() {
        use ShapeKind::*;
        let big_endian = [&[0, 0, 0, 0, 1][..], &[0; 16]].concat();
        for bad in [
            Vec::new(),
            point()[..20].to_vec(),
            [point(), vec![0]].concat(),
            big_endian,
            line(1),
            shape(LineString, Some(u32::MAX), &[]),
            polygon(3),
            shape(Polygon, Some(0), &[]),
            shape(MultiPoint, Some(0), &[]),
            shape(MultiPoint, Some(1), &line(2)),
            shape(MultiPolygon, Some(1), &shape(MultiPolygon, Some(1), &polygon(4))),
            shape(Collection, Some(1), &line(1)),
            [&[1, 0xe9, 3, 0, 0][..], &[0; 24]].concat(),
            b"POINT(1 2)".to_vec(),
        ] {
            assert_eq!(convert(None, None, &bad), Err(Reason::NotAGeometry), "{bad:?}");
        }
        assert_eq!(convert(None, None, &collections(101)), Err(Reason::TooDeepGeometry));
    }

    #[test]
    fn columns_have_a_kind_and_an_srid() {
        use ShapeKind::*;
        assert_eq!(convert(Some(Point), Some(4326), &point()), Ok(()));
        assert_eq!(convert(Some(Point), None, &line(2)), Err(Reason::NotAGeometry));
        assert_eq!(convert(Some(Point), Some(0), &point()), Err(Reason::OtherSrid { srid: 4326 }));
        let points = shape(MultiPoint, Some(1), &point());
        assert_eq!(convert(Some(Collection), None, &points), Ok(()));
        assert_eq!(convert(Some(Collection), None, &point()), Err(Reason::NotAGeometry));
        assert_eq!(ShapeKind::named("geometrycollection"), ShapeKind::named("GeomCollection"));
        assert_eq!(ShapeKind::named("geometry"), None);
    }
}
