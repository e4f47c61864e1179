//! The coordinate systems of columns of geometries: of Parquet's own types, and of GeoParquet.
//!
//! Source: Apache Parquet, `Geospatial.md`; GeoParquet 1.1.

use std::sync::Arc;

use arrow_schema::{Field, FieldRef, Fields, Schema, SchemaRef};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::basic::LogicalType;
use serde_json::Value;

use crate::fit::SRID;

/// Key in the footer of GeoParquet, and the only encoding that is read.
const GEO: &str = "geo";
const WKB: &str = "WKB";
/// The SRID of longitudes and latitudes of WGS 84, the default of both formats, and that of no system.
const WGS_84: &str = "4326";
const NONE: &str = "0";
/// Characters of a system's name in a message.
const NAME_CHARS_MAX: usize = 60;

/// The columns with the coordinate systems of geometries.
pub(super) fn with_srids(schema: &SchemaRef, metadata: &ArrowReaderMetadata) -> SchemaRef {
    let file = metadata.metadata().file_metadata();
    let pairs = file.key_value_metadata().map_or(&[][..], Vec::as_slice);
    let geo = pairs.iter().find(|pair| pair.key == GEO).and_then(|pair| pair.value.as_deref());
    let geo: Option<Value> = geo.and_then(|text| serde_json::from_str(text).ok());
    let srid = |column: usize, field: &Field| {
        let of_type = of_type(metadata, column);
        of_type.or_else(|| of_geo_parquet(geo.as_ref()?.get("columns")?.get(field.name())?))
    };
    let fields = schema.fields().iter().enumerate().map(|(column, field)| -> FieldRef {
        let Some(srid) = srid(column, field) else { return Arc::clone(field) };
        let mut metadata = field.metadata().clone();
        metadata.insert(SRID.to_owned(), srid);
        Arc::new(Field::clone(field).with_metadata(metadata))
    });
    Arc::new(Schema::new_with_metadata(fields.collect::<Fields>(), schema.metadata().clone()))
}

/// The system of a column of Parquet's own types.
fn of_type(metadata: &ArrowReaderMetadata, column: usize) -> Option<String> {
    let parquet = metadata.parquet_schema();
    let mut leaves =
        (0..parquet.num_columns()).filter(|leaf| parquet.get_column_root_idx(*leaf) == column);
    let leaf = parquet.column(leaves.next()?);
    let crs = match leaf.logical_type_ref()? {
        LogicalType::Geometry(geometry) => geometry.crs.as_deref(),
        LogicalType::Geography(geography) => geography.crs.as_deref(),
        _ => return None,
    };
    Some(crs.map_or_else(|| WGS_84.to_owned(), of_name))
}

/// The system of a column of GeoParquet.
fn of_geo_parquet(column: &Value) -> Option<String> {
    if column.get("encoding")?.as_str()? != WKB {
        return None;
    }
    Some(match column.get("crs") {
        None => WGS_84.to_owned(),
        Some(Value::Null) => NONE.to_owned(),
        Some(crs) => of_json(crs).unwrap_or_else(|| of_name(&crs.to_string())),
    })
}

/// The number of a system in PROJJSON.
fn of_json(crs: &Value) -> Option<String> {
    let id = crs.get("id")?;
    let authority = id.get("authority")?.as_str()?;
    let code = id.get("code")?;
    let code = code.as_str().map_or_else(|| code.to_string(), str::to_owned);
    Some(of_name(&format!("{authority}:{code}")))
}

/// The number of a system by its name; the name where there is none.
fn of_name(name: &str) -> String {
    let is_number = |code: &&str| code.parse::<u32>().is_ok();
    match name.to_ascii_uppercase().as_str() {
        "OGC:CRS84" => WGS_84.to_owned(),
        upper => {
            let code = upper.strip_prefix("EPSG:").or_else(|| upper.strip_prefix("SRID:"));
            match code.filter(is_number) {
                Some(code) => code.to_owned(),
                None => name.chars().take(NAME_CHARS_MAX).collect(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn systems_have_numbers() {
        for (column, srid) in [
            (json!({"encoding": "WKB"}), Some("4326")),
            (json!({"encoding": "WKB", "crs": null}), Some("0")),
            (
                json!({"encoding": "WKB", "crs": {"id": {"authority": "EPSG", "code": 3857}}}),
                Some("3857"),
            ),
            (
                json!({"encoding": "WKB", "crs": {"id": {"authority": "OGC", "code": "CRS84"}}}),
                Some("4326"),
            ),
            (
                json!({"encoding": "WKB", "crs": {"name": "of ours"}}),
                Some("{\"name\":\"of ours\"}"),
            ),
            (json!({"encoding": "point"}), None),
        ] {
            assert_eq!(of_geo_parquet(&column).as_deref(), srid, "{column}");
        }
        assert_eq!(of_name("srid:5070"), "5070");
    }
}
