//! Columns of shapes and vectors, as MySQL 9 has them, with their values: well-known binary behind an SRID, and floats.

use crate::Random;
use crate::tables::column::{Column, Kind};
use crate::tables::table::Table;

/// Types of columns; the first one takes every kind of shape, the others that of their place. The last one takes
/// shapes of several parts, too.
const NAMES: [&str; 8] = [
    "GEOMETRY",
    "POINT",
    "LINESTRING",
    "POLYGON",
    "MULTIPOINT",
    "MULTILINESTRING",
    "MULTIPOLYGON",
    "GEOMETRYCOLLECTION",
];
const COLLECTION: usize = 7;
/// Systems of coordinates of columns: any, none, degrees, metres.
const SRIDS: [Option<u32>; 5] = [None, None, Some(0), Some(4_326), Some(3_857)];
/// Most collections in each other.
const DEPTH_MAX: usize = 4;
/// Tries of a value that has none of the bytes that a file cannot have.
const TRIES: usize = 20;

/// Gives a table some columns of shapes and vectors. No key has one.
pub(crate) fn add_columns(random: &mut Random, table: &mut Table) {
    for number in 0..random.between(1, 3) {
        let (kind, declaration) = kind(random);
        let mut column = Column::random(random, format!("s{number}"), false);
        column.charset = values::Charset::Binary;
        column.default = random.chance(3).then(|| default(random, &kind));
        (column.kind, column.declaration, column.auto_increment) = (kind, declaration, false);
        table.columns.push(column);
    }
}

/// True if a table has a VECTOR: LOAD DATA takes its values from a file without a character set only.
pub(crate) fn has_vector(table: &Table) -> bool {
    table.columns.iter().any(|column| matches!(column.kind, Kind::Vector(_)))
}

fn kind(random: &mut Random) -> (Kind, String) {
    if random.chance(2) {
        let floats = random.pick(&[1, 2, 17, 300, 3_000]);
        return (Kind::Vector(floats), format!("VECTOR({floats})"));
    }
    let (of, srid) = (random.below(NAMES.len()), random.pick(&SRIDS));
    let attribute = srid.map_or(String::new(), |srid| format!(" SRID {srid}"));
    (Kind::Shape { of, srid }, NAMES[of].to_owned() + &attribute)
}

fn default(random: &mut Random, kind: &Kind) -> String {
    let hex: String = value(random, kind).iter().map(|byte| format!("{byte:02x}")).collect();
    match kind {
        Kind::Shape { of: 1, srid } if random.chance(2) => {
            format!("(ST_SRID(POINT(1, 2), {}))", srid.unwrap_or(0))
        }
        Kind::Vector(_) if random.chance(2) => "(TO_VECTOR('[1.5]'))".to_owned(),
        _ => format!("(x'{hex}')"),
    }
}

/// A value that a column takes.
pub(crate) fn value(random: &mut Random, kind: &Kind) -> Vec<u8> {
    match kind {
        Kind::Shape { of, srid } => {
            let srid = srid.unwrap_or_else(|| random.pick(&[0, 0, 4_326, 3_857, 999_999]));
            let of = match *of {
                0 => random.between(1, COLLECTION),
                COLLECTION => random.between(4, COLLECTION),
                of => of,
            };
            [&srid.to_le_bytes()[..], &shape(random, of, DEPTH_MAX)].concat()
        }
        Kind::Vector(most) => {
            let count = if random.chance(3) { *most } else { random.between(1, *most) };
            (0..count).flat_map(|_| float(random).to_le_bytes()).collect()
        }
        _ => Vec::new(),
    }
}

/// The same without bytes that a file cannot have, if that can be: `tame` removes these.
pub(crate) fn tamed(random: &mut Random, kind: &Kind, tame: impl Fn(&mut Vec<u8>)) -> Vec<u8> {
    let mut tamed = Vec::new();
    for _ in 0..TRIES {
        let value = value(random, kind);
        tamed.clone_from(&value);
        tame(&mut tamed);
        if tamed == value {
            break;
        }
    }
    tamed
}

/// A value that a column refuses, mostly.
pub(crate) fn bad_value(random: &mut Random, kind: &Kind) -> Vec<u8> {
    let mut bytes = value(random, kind);
    match (random.below(8), kind) {
        (0, _) => bytes.clear(),
        (1, _) => bytes.truncate(random.below(bytes.len())),
        (2, _) => bytes.insert(random.below(bytes.len() + 1), random.pick(&[0, 1, b'x', 0xff])),
        (3, _) => return b"POINT(1 2)".to_vec(),
        (4, Kind::Vector(most)) => return vec![0; 4 * (most + 1)],
        (4, _) => bytes[0] ^= 1,
        // The order of bytes; a float that is infinite.
        (5, Kind::Vector(_)) => bytes[..4].copy_from_slice(&f32::INFINITY.to_le_bytes()),
        (5, _) => bytes[4] = 0,
        (6, Kind::Vector(_)) => bytes[..4].copy_from_slice(&f32::NAN.to_le_bytes()),
        // The kind; the number of parts.
        (6, _) => bytes[5] = random.below(9) as u8,
        _ => {
            let at = random.below(bytes.len());
            bytes[at] = random.next_u64() as u8;
        }
    }
    bytes
}

/// Well-known binary of a shape, the lowest byte first.
fn shape(random: &mut Random, of: usize, depth: usize) -> Vec<u8> {
    let mut bytes = vec![1];
    bytes.extend((of as u32).to_le_bytes());
    let count = match of {
        1 => {
            bytes.extend(positions(random, 1));
            return bytes;
        }
        2 if random.chance(20) => 900,
        2 => random.pick(&[2, 2, 3, 7]),
        3..COLLECTION => random.pick(&[1, 1, 2, 4]),
        _ => random.below(4),
    };
    bytes.extend((count as u32).to_le_bytes());
    if of == 2 {
        bytes.extend(positions(random, count));
        return bytes;
    }
    for _ in 0..count {
        bytes.extend(match of {
            3 => ring(random),
            4..COLLECTION => shape(random, of - 3, depth),
            _ => {
                let of = random.between(1, COLLECTION - usize::from(depth == 0));
                shape(random, of, depth.saturating_sub(1))
            }
        });
    }
    bytes
}

fn ring(random: &mut Random) -> Vec<u8> {
    let count = random.pick(&[4, 4, 5, 20]);
    [&(count as u32).to_le_bytes()[..], &positions(random, count)].concat()
}

fn positions(random: &mut Random, count: usize) -> Vec<u8> {
    let number = |random: &mut Random| match random.below(12) {
        0 => f64::from_bits(random.next_u64()),
        1 => random.pick(&[0.0, -0.0, 90.0, -180.0, f64::INFINITY, f64::NAN]),
        2 => random.next_u64() as f64 / 1e17,
        _ => random.below(360) as f64 - 180.0,
    };
    (0..2 * count).flat_map(|_| number(random).to_le_bytes()).collect()
}

fn float(random: &mut Random) -> f32 {
    match random.below(4) {
        0 => random.pick(&[0.0, -0.0, 1.0, f32::MAX, f32::MIN_POSITIVE]),
        1 => {
            Some(f32::from_bits(random.next_u64() as u32)).filter(|f| f.is_finite()).unwrap_or(2.5)
        }
        _ => random.below(2_000) as f32 / 7.0 - 140.0,
    }
}
