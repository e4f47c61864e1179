//! Facts about the driver and the server.

use std::collections::HashSet;
use std::sync::Arc;

use adbc_core::constants::ADBC_VERSION_1_1_0;
use adbc_core::error::{Result, Status};
use adbc_core::options::InfoCode;
use adbc_core::schemas::{GET_INFO_SCHEMA, GET_TABLE_TYPES_SCHEMA};
use arrow_array::{
    ArrayRef, BooleanArray, Int64Array, RecordBatch, StringArray, UInt32Array, UnionArray,
    new_empty_array,
};
use arrow_schema::DataType;
use server::Version;
use server::version::Flavor;

use crate::errors::error;
use crate::result::{self, Reader};

/// Kinds of tables, as information_schema names them.
const TABLE_TYPES: [&str; 5] =
    ["BASE TABLE", "VIEW", "SYSTEM VIEW", "SEQUENCE", "SYSTEM VERSIONED"];

/// A fact.
enum Fact {
    Text(String),
    Switch(bool),
    Number(i64),
}

/// The facts with these codes, or all.
pub(crate) fn info(codes: Option<&HashSet<InfoCode>>, version: &Version) -> Result<Reader> {
    let vendor = match version.flavor {
        Flavor::MariaDb => "MariaDB",
        Flavor::MySql => "MySQL",
    };
    let own = env!("CARGO_PKG_VERSION");
    let all = [
        (InfoCode::VendorName, Fact::Text(vendor.to_owned())),
        (InfoCode::VendorVersion, Fact::Text(version.text.clone())),
        (InfoCode::VendorSql, Fact::Switch(true)),
        (InfoCode::VendorSubstrait, Fact::Switch(false)),
        (InfoCode::DriverName, Fact::Text("Inrush".to_owned())),
        (InfoCode::DriverVersion, Fact::Text(own.to_owned())),
        (InfoCode::DriverAdbcVersion, Fact::Number(i64::from(ADBC_VERSION_1_1_0))),
    ];
    let is_asked = |code: &InfoCode| codes.is_none_or(|codes| codes.contains(code));
    let facts: Vec<(u32, Fact)> = all
        .into_iter()
        .filter(|(code, _)| is_asked(code))
        .map(|(code, fact)| (u32::from(&code), fact))
        .collect();
    let names = UInt32Array::from_iter_values(facts.iter().map(|(code, _)| *code));
    let columns: Vec<ArrayRef> = vec![Arc::new(names), values(facts)?];
    let schema = Arc::clone(&GET_INFO_SCHEMA);
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
    Ok(result::reader(schema, vec![batch]))
}

/// The facts as a union, whose members the interface prescribes.
fn values(facts: Vec<(u32, Fact)>) -> Result<ArrayRef> {
    let (mut texts, mut switches, mut numbers) = (Vec::new(), Vec::new(), Vec::new());
    let (mut kinds, mut offsets) = (Vec::new(), Vec::new());
    for (_, fact) in facts {
        let (kind, at) = match fact {
            Fact::Text(text) => {
                texts.push(text);
                (0_i8, texts.len())
            }
            Fact::Switch(is_on) => {
                switches.push(is_on);
                (1, switches.len())
            }
            Fact::Number(number) => {
                numbers.push(number);
                (2, numbers.len())
            }
        };
        kinds.push(kind);
        offsets.push(i32::try_from(at - 1).unwrap_or(i32::MAX));
    }
    let DataType::Union(fields, _) = GET_INFO_SCHEMA.field(1).data_type() else {
        return Err(error(Status::Internal, "the facts of ADBC are no union"));
    };
    let members = fields.iter().map(|(kind, field)| -> ArrayRef {
        match kind {
            0 => Arc::new(StringArray::from(std::mem::take(&mut texts))),
            1 => Arc::new(BooleanArray::from(std::mem::take(&mut switches))),
            2 => Arc::new(Int64Array::from(std::mem::take(&mut numbers))),
            _ => new_empty_array(field.data_type()),
        }
    });
    let members = members.collect();
    Ok(Arc::new(UnionArray::try_new(fields.clone(), kinds.into(), Some(offsets.into()), members)?))
}

/// The kinds of tables.
pub(crate) fn table_types() -> Result<Reader> {
    let schema = Arc::clone(&GET_TABLE_TYPES_SCHEMA);
    let types: ArrayRef = Arc::new(StringArray::from_iter_values(TABLE_TYPES));
    let batch = RecordBatch::try_new(Arc::clone(&schema), vec![types])?;
    Ok(result::reader(schema, vec![batch]))
}
