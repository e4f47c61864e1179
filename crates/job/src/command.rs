//! The command that a job was begun by, as its journal keeps it: enough to run it again, and to see
//! whether it would read the same.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use face::OptionName;
use face::option::{
    ATOMIC, BATCH_BYTES, BATCH_ROWS, CONNECTIONS, DUPLICATES, JSON, LOCK_WAIT, MAX_LAG, MAX_RATE,
    MAX_WRITE_BLOCK, MEMORY, METRICS, PATH, PROGRESS, QUIET, REJECTS, REPORT, SET, SET_SQL, STAMP,
    STATE_DIR, TEMP_DIR, THREADS, UNTESTED_SERVER, VERBOSE,
};
use face::statement::{HIDDEN, shown_argument};
use serde::{Deserialize, Serialize};
use server::identifier::digest;
use sources::{is_stdin, remote};

/// Bytes at the start of a file that are compared.
const HEAD_BYTES: u64 = 1 << 16;
/// Arguments that do not change the rows.
const NO_MEANING: [&str; 5] =
    [QUIET.typed(), JSON.typed(), VERBOSE.typed(), ATOMIC.typed(), UNTESTED_SERVER.typed()];
/// Options with a value that do not change the rows.
const OPTIONS_WITHOUT_MEANING: [OptionName; 18] = [
    PATH,
    REJECTS,
    DUPLICATES,
    BATCH_BYTES,
    BATCH_ROWS,
    MAX_RATE,
    MAX_LAG,
    MAX_WRITE_BLOCK,
    STATE_DIR,
    TEMP_DIR,
    REPORT,
    THREADS,
    MEMORY,
    CONNECTIONS,
    LOCK_WAIT,
    METRICS,
    PROGRESS,
    STAMP,
];

/// A command that loads. No server's password is on it, because none may be on a command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandLine {
    /// The command's arguments, without the program's name, and without values that may be secrets.
    pub arguments: Vec<String>,
    /// The arguments as they were typed, for the proof; none where the command was read from a journal.
    #[serde(skip)]
    typed: Vec<String>,
    /// The folder that it was run in.
    pub folder: PathBuf,
    /// The files that it reads rows from, as they were.
    pub inputs: Vec<Input>,
    /// The identity of its rows on the server; none until the job has a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proof: Option<CommandProof>,
}

/// The identity of a command's rows on the server and in journals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandProof {
    /// A digest of the command, its files, its tables and the server, in 16 digits. The same command
    /// has the same one as long as its files are as they were.
    pub id: String,
    /// Where the server is, as the command names it.
    pub server: String,
}

/// A file of rows, as it was when a job began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// Its path, from the root.
    pub path: PathBuf,
    /// Its size and times; None for a pipe, which cannot be read again.
    pub state: Option<InputState>,
}

/// By what a file is taken for the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputState {
    /// Its size.
    pub bytes: u64,
    /// When it was changed last, in nanoseconds since 1970.
    pub modified_ns: i64,
    /// CRC-32C of its first 64 KiB.
    pub head: u32,
}

impl CommandLine {
    /// The command of this process, which reads `files`. None where it cannot be written down: an
    /// argument that is no UTF-8, a working folder that is gone.
    pub fn of_this_process<'a>(files: impl Iterator<Item = &'a Path>) -> Option<CommandLine> {
        let folder = std::env::current_dir().ok()?;
        let arguments: Result<Vec<String>, OsString> =
            std::env::args_os().skip(1).map(OsString::into_string).collect();
        let inputs = files.map(|file| Input::of(&folder, file)).collect();
        Some(CommandLine::of(arguments.ok()?, folder, inputs))
    }

    /// The command of these arguments.
    pub(crate) fn of(typed: Vec<String>, folder: PathBuf, inputs: Vec<Input>) -> CommandLine {
        // A signature in a URL is another one each time, of the same file.
        let meant = |argument: &String| shown_url(argument).unwrap_or_else(|| argument.clone());
        let meant = typed.iter().map(meant).collect();
        CommandLine { arguments: kept(&typed), typed: meant, folder, inputs, proof: None }
    }

    /// True if it can be run again: all its values were kept.
    pub fn is_whole(&self) -> bool {
        !self.arguments.iter().any(|argument| argument.ends_with(HIDDEN))
    }

    /// The same command with the proof of a `job` that loads `target` on a `server`. A pipe cannot be read
    /// again, so a command that reads one has another proof in each job.
    pub fn proven(mut self, server: &str, target: &str, job: &str) -> CommandLine {
        let mut text = format!("{server}\0{target}");
        // However a file is named, it is the same one.
        let is_input = |argument: &str| {
            let named = path(&self.folder, Path::new(argument));
            self.inputs.iter().any(|input| input.path == named)
        };
        for argument in meaning(&self.typed).into_iter().filter(|argument| !is_input(argument)) {
            text.push_str(&format!("\0{argument}"));
        }
        for Input { path, state } in &self.inputs {
            let path: PathBuf = path.components().collect();
            match state {
                Some(state) => text.push_str(&format!("\0{} {state:?}", path.display())),
                None => text.push_str(&format!("\0{} of {job}", path.display())),
            }
        }
        let id = format!("{:016x}", digest(text.as_bytes()));
        self.proof = Some(CommandProof { id, server: server.to_owned() });
        self
    }

    /// The same command with only these of its files.
    pub fn reading(mut self, files: &[PathBuf]) -> CommandLine {
        let paths: Vec<PathBuf> = files.iter().map(|file| path(&self.folder, file)).collect();
        self.inputs.retain(|input| paths.contains(&input.path));
        self
    }

    /// True if `other` has the same arguments, and these files with the bytes that this one had. Small files may have
    /// been written again.
    pub fn is_same_for(&self, files: &[PathBuf], other: &CommandLine) -> bool {
        let (own, others) = (self.clone().reading(files), other.clone().reading(files));
        let is_same = |(own, other): (&Input, &Input)| {
            let states = own.state.zip(other.state);
            own.path == other.path && states.is_some_and(|(then, now)| now.has_bytes_of(then))
        };
        self.is_typed_as(other)
            && own.inputs.len() == others.inputs.len()
            && own.inputs.iter().zip(&others.inputs).all(is_same)
    }

    /// True if `other` has the same arguments, whatever its files hold.
    pub fn is_typed_as(&self, other: &CommandLine) -> bool {
        self.is_whole()
            && meaning(&self.arguments) == meaning(&other.arguments)
            && self.folder == other.folder
    }

    /// Why running it again would not read the same rows: the first file that is not as it was.
    pub fn changed(&self) -> Option<String> {
        self.inputs.iter().find_map(Input::changed)
    }
}

/// Arguments without those that do not change the rows.
fn meaning(arguments: &[String]) -> Vec<&str> {
    let mut arguments = arguments.iter().map(String::as_str);
    let mut kept = Vec::new();
    while let Some(argument) = arguments.next() {
        let (name, value) =
            argument.split_once('=').map_or((argument, None), |(n, v)| (n, Some(v)));
        if NO_MEANING.contains(&name) {
            continue;
        }
        match OPTIONS_WITHOUT_MEANING.iter().any(|option| option.typed() == name) {
            true if value.is_none() => drop(arguments.next()),
            true => {}
            false => kept.push(argument),
        }
    }
    kept
}

/// The arguments without values of `--set` and `--set-sql` that may be secrets: keys of AES_ENCRYPT, passwords.
fn kept(typed: &[String]) -> Vec<String> {
    let is_setting = |argument: &str| [SET, SET_SQL].iter().any(|set| set.typed() == argument);
    let mut is_value = false;
    let keep = |argument: &String| {
        let option = argument.split_once('=').map_or(argument.as_str(), |(option, _)| option);
        let is_secret =
            std::mem::replace(&mut is_value, is_setting(argument)) || is_setting(option);
        if is_secret { shown_argument(argument) } else { kept_url(argument) }
    };
    typed.iter().map(keep).collect()
}

/// A URL without what may be a secret; None of any other argument.
fn shown_url(argument: &str) -> Option<String> {
    remote::without_secrets(argument).map(|(shown, _)| shown)
}

/// An argument, which says of a URL that something is left out.
fn kept_url(argument: &str) -> String {
    match remote::without_secrets(argument) {
        Some((shown, true)) => format!("{shown}?{HIDDEN}"),
        _ => argument.to_owned(),
    }
}

/// As it could be typed into a shell.
impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("inrush")?;
        for argument in &self.arguments {
            write!(f, " {}", shell_word(argument))?;
        }
        Ok(())
    }
}

/// A word as a shell reads it.
pub fn shell_word(word: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => Cow::Borrowed(word),
        false => Cow::Owned(format!("'{}'", word.replace('\'', r"'\''"))),
    }
}

/// The path of a file from the root.
fn path(folder: &Path, file: &Path) -> PathBuf {
    if remote::is_url(file) { file.to_owned() } else { folder.join(file) }
}

impl Input {
    fn of(folder: &Path, file: &Path) -> Input {
        // What cannot be read is told by who reads the rows.
        let state = if is_stdin(file) { None } else { InputState::of(file).ok().flatten() };
        Input { path: path(folder, file), state }
    }

    /// How it is another file than it was, or cannot be told.
    pub fn changed(&self) -> Option<String> {
        let path = self.path.display();
        let Some(then) = self.state else {
            return Some(format!("{path} cannot be read a second time"));
        };
        match InputState::of(&self.path) {
            Ok(Some(now)) if now == then => None,
            Ok(Some(now)) if now.bytes != then.bytes => {
                Some(format!("{path} has {} bytes now; it had {}", now.bytes, then.bytes))
            }
            Ok(Some(now)) if now.head != then.head => {
                Some(format!("{path} begins with different bytes now"))
            }
            Ok(Some(_)) => Some(format!("{path} has been written to since")),
            Ok(None) => Some(format!("{path} is no longer a plain file")),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Some(format!("{path} no longer exists"))
            }
            Err(error) => Some(format!("{path} cannot be read: {error}")),
        }
    }
}

impl InputState {
    /// That of an object on another machine, if one has this name; None of one that can be read only once.
    fn of_remote(path: &Path) -> Option<Option<InputState>> {
        let identity = remote::identity(path)?;
        let mut head = [0; remote::HEAD_BYTES_MIN];
        let size = remote::head(path, &mut head)?;
        let head = crc32c::crc32c(&head[..size]);
        Some(remote::plain_bytes(path).map(|bytes| InputState {
            bytes,
            // The state is told by the time that a server says, too.
            modified_ns: 0,
            head: crc32c::crc32c_append(head, identity.as_bytes()),
        }))
    }

    /// That of a plain file; None of anything else.
    fn of(path: &Path) -> io::Result<Option<InputState>> {
        if let Some(state) = InputState::of_remote(path) {
            return Ok(state);
        }
        // A pipe would wait for its other end when it is opened.
        if !std::fs::metadata(path)?.is_file() {
            return Ok(None);
        }
        let file = std::fs::File::open(path)?;
        let metadata = file.metadata()?;
        let mut head = Vec::new();
        file.take(HEAD_BYTES).read_to_end(&mut head)?;
        Ok(Some(InputState {
            bytes: metadata.len(),
            modified_ns: (metadata.mtime().saturating_mul(1_000_000_000))
                .saturating_add(metadata.mtime_nsec()),
            head: crc32c::crc32c(&head),
        }))
    }

    /// True if a file has the bytes that it had in another state, as far as both tell: a small one also if it was
    /// written again.
    fn has_bytes_of(self, then: InputState) -> bool {
        let is_all_compared = self.bytes <= HEAD_BYTES;
        (self.bytes, self.head) == (then.bytes, then.head)
            && (is_all_compared || self.modified_ns == then.modified_ns)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::{self, File};
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn a_changed_file_is_told_from_the_one_that_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows.csv");
        fs::write(&file, "1,a\n2,b\n").unwrap();
        let input = Input::of(folder.path(), &file);
        assert_eq!(input.changed(), None);
        let modified = fs::metadata(&file).unwrap().modified().unwrap();
        let write = |text: &str, at: SystemTime| {
            fs::write(&file, text).unwrap();
            File::options().write(true).open(&file).unwrap().set_modified(at).unwrap();
            input.changed()
        };
        assert_eq!(write("1,a\n2,b\n", modified), None);
        let changed = write("1,a\n", modified).unwrap();
        assert!(changed.ends_with("rows.csv has 4 bytes now; it had 8"), "{changed}");
        assert!(
            write("1,a\n2,c\n", modified).unwrap().ends_with("begins with different bytes now")
        );
        let later = modified + Duration::from_secs(1);
        assert!(write("1,a\n2,b\n", later).unwrap().ends_with("has been written to since"));
        // All of a small file is compared where its rows are in.
        let (then, now) = (input.state.unwrap(), Input::of(folder.path(), &file).state.unwrap());
        assert!(now.has_bytes_of(then) && now != then);
        let large = |state: InputState| InputState { bytes: HEAD_BYTES + 1, ..state };
        assert!(!large(now).has_bytes_of(large(then)) && large(now).has_bytes_of(large(now)));
        fs::remove_file(&file).unwrap();
        assert!(input.changed().unwrap().ends_with("no longer exists"));
        fs::create_dir(&file).unwrap();
        assert!(input.changed().unwrap().ends_with("is no longer a plain file"));
        let stdin = Input::of(folder.path(), Path::new("-"));
        assert!(stdin.changed().unwrap().ends_with("cannot be read a second time"));
    }

    #[test]
    fn words_are_quoted_as_a_shell_wants_them() {
        for (word, quoted) in [
            ("a/b-c.csv", "a/b-c.csv"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$x`y`", "'$x`y`'"),
            ("\\t", "'\\t'"),
        ] {
            assert_eq!(shell_word(word), quoted);
        }
    }

    #[test]
    fn a_command_is_shown_as_a_shell_takes_it() {
        let arguments =
            ["load", "it's here.csv", "--fields-terminated-by", r"\t", "--null-token", ""];
        let arguments = arguments.map(str::to_owned).into();
        let command = CommandLine::of(arguments, PathBuf::from("/"), Vec::new());
        let shown = r"inrush load 'it'\''s here.csv' --fields-terminated-by '\t' --null-token ''";
        assert_eq!(command.to_string(), shown);
    }

    #[test]
    fn a_secret_is_in_the_proof_of_a_command_and_nowhere_else() {
        let command = |key: &str| {
            let set = format!("a=AES_ENCRYPT(@a,'{key}')");
            let typed = ["load", "--set-sql", &set, &format!("--set=password={key}"), "b=c"];
            let typed = typed.map(str::to_owned).into();
            CommandLine::of(typed, PathBuf::from("/"), Vec::new()).proven("s", "d.t", "1")
        };
        let (one, other) = (command("hunter2"), command("hunter3"));
        assert_ne!(one.proof, other.proof);
        assert!(!one.is_whole());
        let kept = serde_json::to_string(&one).unwrap();
        assert!(!kept.contains("hunter"), "{kept}");
        let shown = "inrush load --set-sql 'a=(not shown)' '--set=password=(not shown)' b=c";
        assert_eq!(one.to_string(), shown);
        let read: CommandLine = serde_json::from_str(&kept).unwrap();
        assert!(!read.is_whole() && read.proof == one.proof);
    }

    #[test]
    fn the_same_command_has_the_same_proof_until_a_file_changes() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("rows.csv");
        fs::write(&file, "1,a\n").unwrap();
        let command = |arguments: &[&str], input: &Path| {
            let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
            let inputs = vec![Input::of(folder.path(), input)];
            CommandLine::of(arguments, folder.path().to_owned(), inputs)
        };
        let id = |command: CommandLine, server: &str, target: &str, job: &str| {
            command.proven(server, target, job).proof.unwrap().id
        };
        let plain = ["load", "rows.csv", "--into", "d.t"];
        let first = id(command(&plain, &file), "s", "d.t", "1");
        assert_eq!(first.len(), 16);
        let elsewhere =
            ["load", "rows.csv", "--state-dir", "x", "--into", "d.t", "--json", "--report=y"];
        assert_eq!(id(command(&elsewhere, &file), "s", "d.t", "2"), first);
        let watched = [
            "load",
            "rows.csv",
            "--progress",
            "json",
            "--metrics=m",
            "--stamp",
            "no",
            "--into",
            "d.t",
        ];
        assert_eq!(id(command(&watched, &file), "s", "d.t", "2"), first);
        let spelled = ["load", "./rows.csv", "--max-rate=2M", "--rejects", "r", "--into", "d.t"];
        assert_eq!(
            id(command(&spelled, &folder.path().join("./rows.csv")), "s", "d.t", "2"),
            first
        );
        let replaced = ["load", "rows.csv", "--into", "d.t", "--mode", "replace"];
        assert_ne!(id(command(&replaced, &file), "s", "d.t", "1"), first);
        assert_ne!(id(command(&plain, &file), "other", "d.t", "1"), first);
        assert_ne!(id(command(&plain, &file), "s", "d.u", "1"), first);
        let stdin = Path::new("-");
        let piped = id(command(&plain, stdin), "s", "d.t", "1");
        assert_eq!(id(command(&plain, stdin), "s", "d.t", "1"), piped);
        assert_ne!(id(command(&plain, stdin), "s", "d.t", "2"), piped);
        fs::write(&file, "1,b\n2,c\n").unwrap();
        assert_ne!(id(command(&plain, &file), "s", "d.t", "1"), first);
    }
}
