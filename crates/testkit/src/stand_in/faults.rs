//! Faults of requests, and the requests that meet them.

use super::COM_CONNECT;
use crate::Random;
use crate::proxy::{Fate, Request};

/// One of so many requests has its fate together with another.
const SECOND_ONE_IN: usize = 4;
/// Fates of a question, where not all are wanted.
const QUESTION_FATES: usize = 1;
/// Requests that are not there in every run.
const MORE_REQUESTS: usize = 2;

/// A deadlock, a lock that did not come, a table that is gone, one that is full, a server that is
/// read-only, a right that is missing, a disk that is full, a packet that did not come, a statement
/// and a connection that were killed, a server that goes down, one that is full.
const REFUSALS: [u16; 12] =
    [1213, 1205, 1146, 1114, 1290, 1142, 1021, 1158, 1317, 1927, 1053, 1040];
/// The errors among these that are also reported for an executed statement.
const UNCLEAR: [u16; 3] = [1053, 1927, 1317];
/// The errors among these that meet a log-in.
const AT_LOG_IN: [u16; 3] = [1040, 1053, 1129];

/// A fault of a load: at the request of this number, and perhaps at one that comes so many later.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// Which request it befalls, counted from 0.
    pub nth: usize,
    fate: Fate,
    /// The second fault: how much later, and its fate.
    pub then: Option<(usize, Fate)>,
}

impl Fault {
    /// The fate of the request of this number.
    pub fn fate_of(&self, number: usize) -> Fate {
        match self.then {
            _ if number == self.nth => self.fate,
            Some((later, fate)) if number == self.nth + later => fate,
            _ => Fate::Done,
        }
    }
}

/// The possible fates of a request, one of each kind; `random` chooses the number of its error.
fn fates(request: &Request, random: &mut Random) -> Vec<Fate> {
    let lost = [Fate::LostBefore, Fate::LostAfter, Fate::LostWithin];
    if request.command == COM_CONNECT {
        return [&lost[..], &[Fate::Refused(random.pick(&AT_LOG_IN))]].concat();
    }
    // What touches no row and no table waits for no lock, and has no room to be short of.
    let alone = ["SET SESSION", "SET NAMES", "START", "SAVEPOINT", "RELEASE", "SELECT @@", "DO"];
    let touches_nothing = alone.iter().any(|words| request.begins(words));
    let is_possible = |errno: &&u16| !touches_nothing || ![1213, 1205, 1114, 1021].contains(*errno);
    let possible: Vec<u16> = REFUSALS.iter().filter(is_possible).copied().collect();
    let told =
        [Fate::Refused(random.pick(&possible)), Fate::DoneThenRefused(random.pick(&UNCLEAR))];
    [&lost[..], &told].concat()
}

/// True if a request changes nothing: then all ways to lose its answer are alike.
fn is_question(request: &Request) -> bool {
    ["SELECT @@", "SELECT 1", "SELECT C", "SELECT T", "SELECT I", "SHOW", "SET"]
        .iter()
        .any(|words| request.begins(words))
}

/// All requests of a run to which nothing happens, each with its fates, some with a second one behind it; in
/// any order. Where `is_whole`, each with each: else questions have some of theirs.
pub fn faults(requests: &[Request], is_whole: bool, random: &mut Random) -> Vec<Fault> {
    let last = requests.last().into_iter().cycle().take(MORE_REQUESTS);
    let mut faults = Vec::new();
    for (nth, request) in requests.iter().chain(last).enumerate() {
        let mut fates = fates(request, random);
        if !is_whole && is_question(request) {
            random.shuffle(&mut fates);
            fates.truncate(QUESTION_FATES);
        }
        faults.extend(fates.iter().map(|&fate| Fault { nth, fate, then: None }));
        if random.chance(SECOND_ONE_IN) {
            let then = [Fate::LostBefore, Fate::LostAfter, Fate::Refused(1927)];
            let then = Some((random.between(1, 8), random.pick(&then)));
            faults.push(Fault { nth, fate: random.pick(&fates), then });
        }
    }
    random.shuffle(&mut faults);
    faults
}
