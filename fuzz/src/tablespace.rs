//! Tablespaces: read, verified, shown and taken as a template, whatever their pages say.

use innodb::cfg::Cfg;
use innodb::ids::{PAGE_SIZE, PageNo};
use innodb::inspect::{PageView, Survey};
use innodb::page::seal;
use innodb::reader::SpaceReader;
use innodb::record::RecordShape;
use innodb::template::Template;
use innodb::verify::{Context, Writer};

const CFG: &[u8] = include_bytes!("../../innodb/testdata/mariadb-10.11/t.cfg");
/// Records that one run reads of an index: chains may go round.
const RECORDS_MAX: usize = 10_000;

pub(crate) fn run(bytes: &[u8]) {
    let ([more], file) = crate::choices(bytes);
    let mut file = file.to_vec();
    // Damage below a right checksum gets further.
    if more & 1 != 0 {
        file.chunks_exact_mut(PAGE_SIZE).for_each(seal);
    }
    let cfg = Cfg::parse(CFG).unwrap();
    let size = file.len() as u64;
    let known = Context { writer: Writer::Server, cfg: Some(&cfg), collations: &|_, _| None };
    for context in [known, Context::unknown()] {
        for verify in [false, true] {
            let _ = Survey::read(&file, size, context, verify);
        }
    }
    let _ = Template::parse(&file, &cfg);
    for page_no in 0..file.len() / PAGE_SIZE {
        let _ = PageView::read(&file, PageNo(page_no as u32));
    }
    let Ok(reader) = SpaceReader::open(&file, size) else { return };
    for root in reader.indexes() {
        for index in &cfg.indexes {
            let Ok(shape) = RecordShape::leaf(&cfg, index) else { continue };
            let Ok(mut records) = reader.records(PageNo(root.root), &shape) else { continue };
            for _ in 0..RECORDS_MAX {
                match records.advance() {
                    Ok(Some(record)) => (0..shape.fields.len()).for_each(|at| _ = record.field(at)),
                    _ => break,
                }
            }
        }
    }
}
