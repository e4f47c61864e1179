//! `inrush completions`: the script of each shell.

use std::process::{Command, Stdio};

use crate::support::{Home, run};

/// The answers of bash, sourced with the script, to a line that ends in a tab.
fn completed(home: &Home, words: &[&str]) -> Option<Vec<String>> {
    let script = run(&mut home.inrush(["completions", "bash"])).done().out.clone();
    let script = home.file("inrush.bash", script);
    let [.., before, last] = words else { panic!("{words:?}") };
    let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
    let text = format!(
        ". {}; complete -p inrush; COMP_WORDS=({}); COMP_CWORD={}; _inrush inrush '{last}' '{before}'; \
         echo \"${{COMPREPLY[@]}}\"",
        script.display(),
        quoted.join(" "),
        words.len() - 1
    );
    let outcome = Command::new("bash").args(["-c", &text]).stdin(Stdio::null()).output();
    let Ok(output) = outcome else {
        println!("skipped: there is no bash");
        return None;
    };
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let (first, answers) = text.split_once('\n').unwrap();
    assert!(first.contains("-F _inrush") && first.ends_with(" inrush"), "{text}");
    Some(answers.split_whitespace().map(str::to_owned).collect())
}

#[test]
fn bash_completes_commands_options_and_their_values() {
    let home = Home::new();
    let Some(commands) = completed(&home, &["inrush", ""]) else { return };
    for command in ["load", "verify", "jobs", "completions"] {
        assert!(commands.iter().any(|known| known == command), "{command}: {commands:?}");
    }
    let dialects = completed(&home, &["inrush", "load", "--dialect", ""]).unwrap();
    assert!(dialects.iter().any(|dialect| dialect == "tsv"), "{dialects:?}");
    let modes = completed(&home, &["inrush", "load", "--mode", "re"]).unwrap();
    assert_eq!(modes, ["replace"]);
    let of_verify = completed(&home, &["inrush", "verify", "--"]).unwrap();
    assert!(of_verify.iter().any(|option| option == "--job"), "{of_verify:?}");
}

#[test]
fn tables_are_completed_where_asked() {
    let home = Home::new();
    let made =
        "CREATE DATABASE shop; CREATE TABLE shop.orders (a INT); CREATE TABLE shop.`a b` (a INT)";
    run(home.inrush(["sandbox", "sql"]).arg(made)).done();
    let tables = run(&mut home.inrush(["completions", "--tables-like", "shop."]));
    run(&mut home.inrush(["sandbox", "stop"])).done();
    assert_eq!(tables.done().out, "shop.orders\n");
    let none = run(&mut home.inrush(["completions", "--tables-like", "shop."]));
    assert_eq!(none.done().out, "", "no server is started for it");
    for (shell, part) in [
        ("bash", "complete -F _inrush_or_tables"),
        ("zsh", "DB.TABLE|DB:_inrush_tables'"),
        (
            "zsh",
            "Table or view; or a database, all of whose tables go into a folder:_inrush_tables'",
        ),
        ("fish", "-l into -x -a"),
    ] {
        let script = run(&mut home.inrush(["completions", shell, "--with-tables"]));
        assert!(script.done().out.contains(part), "{shell}");
        assert!(script.done().out.contains("--tables-like"), "{shell}");
    }
    run(&mut home.inrush(["completions", "elvish", "--with-tables"]))
        .refused(2, &["bash, zsh and fish"]);
}

#[test]
fn each_shell_has_a_script() {
    let home = Home::new();
    for (shell, part) in [("zsh", "#compdef inrush"), ("fish", "complete -c inrush")] {
        let script = run(&mut home.inrush(["completions", shell]));
        assert!(script.done().out.contains(part), "{shell}");
    }
    run(&mut home.inrush(["completions", "cmd"])).refused(2, &["invalid value 'cmd'", "bash"]);
}
