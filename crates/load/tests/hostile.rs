//! Loads against a server whose answers are damaged: no bytes, too few, others, out of order, of a
//! length or of columns that are not so. No panic, no end of waiting that does not come, and what is
//! said of the outcome is so; the same command then makes it good.
//!
//! `INRUSH_HOSTILE_RUNS=2000` makes as many loads, `INRUSH_SEED` others.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use testkit::Random;
use testkit::proxy::{Damage, Fate};
use testkit::tables::server::Server;

use crate::modelled::{Scene, WAYS};

/// Loads where nothing is said of it.
const RUNS: usize = 28;
/// Packets of an answer that are damaged: what it begins with, its columns, its rows, its end.
const PACKETS: usize = 6;
/// Longer than a load of three hundred rows takes that has to connect again.
const LONGEST: Duration = Duration::from_secs(60);

#[test]
fn no_answer_of_a_server_makes_a_load_panic_hang_or_lie() {
    let Some(server) = Server::get() else { return };
    let panics = count_panics();
    let runs = std::env::var("INRUSH_HOSTILE_RUNS").ok().and_then(|text| text.parse().ok());
    let mut random = Random::new(Random::seed_of_run());
    for way in &WAYS {
        let mut scene = Scene::new(&server, way);
        for _ in 0..runs.unwrap_or(RUNS) / WAYS.len() {
            let fate = Fate::Damaged(random.below(PACKETS), Damage::any(&mut random));
            let (begun, before) = (Instant::now(), panics.load(Ordering::SeqCst));
            scene.run_with(fate, &mut random);
            assert!(begun.elapsed() < LONGEST, "{fate:?} took {:?}", begun.elapsed());
            assert_eq!(panics.load(Ordering::SeqCst), before, "{fate:?}: a panic of ours");
        }
    }
}

/// Panics from now on, of all threads but where the driver's are caught.
fn count_panics() -> Arc<AtomicUsize> {
    let panics = Arc::new(AtomicUsize::new(0));
    let (seen, usual) = (Arc::clone(&panics), std::panic::take_hook());
    std::panic::set_hook(Box::new(move |panic| {
        if !server::is_in_driver() {
            seen.fetch_add(1, Ordering::SeqCst);
            usual(panic);
        }
    }));
    panics
}
