//! The client programs that come with a server, for tests without a session of their own.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use sandbox::mariadbd::find_program;

use crate::dialect;
use crate::test_server::TestServer;

impl TestServer {
    /// A program such as `mariadb-dump` that connects as the server's administrator: of the
    /// server's own folder, or the installed one.
    pub fn client(&self, program: &str) -> Command {
        let base = self.server.binary.path.parent().and_then(Path::parent);
        let path = find_program(&[program], base).unwrap_or_else(|| program.into());
        let mut command = Command::new(path);
        command
            .arg("--no-defaults")
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--user={}", self.options().user_name()));
        command
    }

    /// The output of `mariadb` for a script: a row a line, fields separated by tabs.
    ///
    /// Err: what it says of the first error, after which it ends.
    pub fn script(&self, sql: &str) -> Result<String, String> {
        let output = self.run_script(sql, &[]);
        match output.status.success() {
            true => Ok(text(&output.stdout)),
            false => Err(text(&output.stderr)),
        }
    }

    /// As [`TestServer::script`], but goes on after errors.
    pub fn whole_script(&self, sql: &str) -> String {
        text(&self.run_script(sql, &["--force"]).stdout)
    }

    fn run_script(&self, sql: &str, arguments: &[&str]) -> Output {
        let mut client = self.client("mariadb");
        client.args(["--batch", "--skip-column-names", "--default-character-set=utf8mb4"]);
        client.args(arguments);
        client.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let sql = dialect::of_script(self.version(), sql);
        let mut client = client.spawn().unwrap_or_else(|e| panic!("mariadb cannot be run: {e}"));
        let mut input = client.stdin.take().unwrap();
        std::thread::scope(|scope| {
            // A client that ends at an error reads no more; its status tells.
            scope.spawn(move || input.write_all(sql.as_bytes()));
            client.wait_with_output().unwrap()
        })
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
