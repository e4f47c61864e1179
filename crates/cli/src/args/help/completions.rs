//! `inrush completions`: the script of a shell, and the tables that the script asks for.

use std::io::Write;
use std::time::Duration;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;
use schema::is_system_schema;
use server::Session;
use terminal::connect::ConnectArgs;
use terminal::failure::Failure;

use crate::args::Cli;
use crate::connect;

/// Longest wait for a server, while somebody waits at the cursor.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Shell.
    #[arg(value_enum, value_name = "SHELL", required_unless_present = "tables_like")]
    shell: Option<Shell>,
    /// Complete the tables of the server of the option files, too (bash, zsh, fish).
    #[arg(long)]
    with_tables: bool,
    /// Print the tables with this beginning, for the script.
    #[arg(long, hide = true, value_name = "START", allow_hyphen_values = true)]
    tables_like: Option<String>,
}

impl CompletionsArgs {
    /// Prints the script, with all options that a command accepts; or the tables.
    pub(crate) fn run(&self) -> Result<u8, Failure> {
        let text = match (&self.tables_like, self.shell) {
            (Some(start), _) => tables(start)?,
            (None, Some(shell)) => script(shell, self.with_tables)?,
            (None, None) => String::new(),
        };
        std::io::stdout().lock().write_all(text.as_bytes())?;
        Ok(0)
    }
}

/// The tables whose names begin so, a line for each. Names that a shell would take apart are left out.
fn tables(start: &str) -> Result<String, Failure> {
    let Some(mut options) = connect::running(&ConnectArgs::default())? else {
        return Ok(String::new());
    };
    options.connect_timeout = Some(PATIENCE);
    let rows = Session::connect(&options)?.query(
        "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE'",
    )?;
    let is_plain =
        |name: &str| name.chars().all(|it| it.is_alphanumeric() || matches!(it, '_' | '$' | '-'));
    let mut text = String::new();
    for row in &rows {
        let (database, table) = (row.text(0)?, row.text(1)?);
        let name = format!("{database}.{table}");
        if !is_system_schema(&database)
            && is_plain(&database)
            && is_plain(&table)
            && name.starts_with(start)
        {
            text.push_str(&name);
            text.push('\n');
        }
    }
    Ok(text)
}

fn script(shell: Shell, with_tables: bool) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "inrush", &mut bytes);
    let script = String::from_utf8_lossy(&bytes).into_owned();
    if !with_tables {
        return Ok(script);
    }
    match shell {
        Shell::Bash => Ok(script + BASH),
        Shell::Fish => Ok(script + FISH),
        Shell::Zsh => {
            let asking = script.replace("DB.TABLE|DB:_default'", "DB.TABLE|DB:_inrush_tables'");
            let asking =
                asking.replace("go into a folder:_default'", "go into a folder:_inrush_tables'");
            Ok(asking.replacen("#compdef inrush\n", ZSH, 1))
        }
        _ => Err(Failure::usage("--with-tables is for bash, zsh and fish")),
    }
}

/// Follows the script of bash: --into, and what is exported.
const BASH: &str = r#"
_inrush_or_tables() {
    if [[ "$3" == --into || ( "$3" == = && "${COMP_WORDS[COMP_CWORD-2]}" == --into ) || ( "${COMP_WORDS[1]}" == export && "$COMP_CWORD" == 2 && "$2" != -* ) ]]; then
        COMPREPLY=($(inrush completions --tables-like "$2" 2>/dev/null))
    else
        _inrush "$@"
    fi
}
complete -F _inrush_or_tables -o bashdefault -o default inrush
"#;

/// Follows the script of fish.
const FISH: &str = "
function __fish_inrush_tables
    inrush completions --tables-like (commandline -ct) 2>/dev/null
end
complete -c inrush -n '__fish_seen_subcommand_from load plan check verify' -l into -x -a '(__fish_inrush_tables)'
complete -c inrush -n '__fish_seen_subcommand_from export' -f -a '(__fish_inrush_tables)'
";

/// The beginning of zsh's script, with the function that its --into then names.
const ZSH: &str = r#"#compdef inrush

_inrush_tables() {
    compadd -- ${(f)"$(inrush completions --tables-like "$PREFIX" 2>/dev/null)"}
}
"#;
