//! The kinds of shapes that GEOMETRY columns hold.

/// A kind of shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeKind {
    /// A position.
    Point = 1,
    /// Positions.
    LineString,
    /// Rings.
    Polygon,
    /// Points.
    MultiPoint,
    /// Lines.
    MultiLineString,
    /// Polygons.
    MultiPolygon,
    /// Shapes of any kind.
    Collection,
}

/// The kinds and their names as the server words them.
const KINDS: [(ShapeKind, &str); 7] = [
    (ShapeKind::Point, "POINT"),
    (ShapeKind::LineString, "LINESTRING"),
    (ShapeKind::Polygon, "POLYGON"),
    (ShapeKind::MultiPoint, "MULTIPOINT"),
    (ShapeKind::MultiLineString, "MULTILINESTRING"),
    (ShapeKind::MultiPolygon, "MULTIPOLYGON"),
    (ShapeKind::Collection, "GEOMCOLLECTION"),
];

impl ShapeKind {
    /// The kind of this name, in any case.
    pub fn named(name: &str) -> Option<ShapeKind> {
        let is_named = |known: &str| name.eq_ignore_ascii_case(known);
        if is_named("GEOMETRYCOLLECTION") {
            return Some(ShapeKind::Collection);
        }
        KINDS.iter().find(|(_, known)| is_named(known)).map(|(kind, _)| *kind)
    }

    /// The name in declarations.
    pub fn name(self) -> &'static str {
        KINDS[self as usize - 1].1
    }

    /// The kind of this number in well-known binary.
    pub(crate) fn of(number: u32) -> Option<ShapeKind> {
        KINDS.get((number as usize).checked_sub(1)?).map(|(kind, _)| *kind)
    }

    /// True if a column of this kind takes shapes of another one.
    pub(crate) fn takes(self, other: ShapeKind) -> bool {
        use ShapeKind::*;
        self == other
            || self == Collection && matches!(other, MultiPoint | MultiLineString | MultiPolygon)
    }
}
