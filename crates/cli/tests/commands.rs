//! Commands besides a plain load, and the command line.

mod bench;
mod checked;
mod columnar;
mod command_line;
mod completions;
mod documented;
#[cfg(feature = "excel")]
mod excel;
mod exported;
mod exported_beside_writers;
mod exported_columnar;
mod feedback;
mod growth;
mod inspect;
mod job_files;
mod jobs;
mod json;
mod pipes;
mod remote;
mod report;
mod same_files;
mod sandbox;
mod sniff;
mod state;
mod terminal;
mod tuned;
mod verified;
mod watched;
mod which_server;
