//! Cases as texts: files, commands, and their expected outcome.

use std::fmt;

/// Before a title, and before a file or a command.
const TITLE: &str = "\n=== ";
const STEP: &str = "\n--- ";
/// Below the title of a case whose expectation is not met yet.
const NOT_YET: &str = "not yet: ";

/// A file of cases.
pub(crate) struct CaseFile {
    /// The text before the first case.
    intro: String,
    pub(crate) cases: Vec<Case>,
}

/// Files, and what commands make of them.
pub(crate) struct Case {
    pub(crate) title: String,
    /// Why the program does something else today.
    pub(crate) not_yet: Option<String>,
    pub(crate) steps: Vec<Step>,
}

/// A file with its text, or a command with its expected outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// `file NAME CHANGES`, `load ARGUMENTS` or `run COMMAND`.
    pub(crate) head: String,
    pub(crate) text: String,
}

impl CaseFile {
    pub(crate) fn parse(text: &str) -> CaseFile {
        let mut parts = text.split(TITLE);
        let intro = parts.next().unwrap().to_owned();
        CaseFile { intro, cases: parts.map(Case::parse).collect() }
    }
}

impl Case {
    fn parse(text: &str) -> Case {
        let mut parts = text.split(STEP);
        let mut top = parts.next().unwrap().lines();
        let title = top.next().unwrap().to_owned();
        let not_yet = top.next().map(|line| {
            line.strip_prefix(NOT_YET).unwrap_or_else(|| panic!("{title}: {line}")).to_owned()
        });
        let steps: Vec<Step> = parts.map(Step::parse).collect();
        assert!(steps.iter().any(Step::is_run), "{title} runs nothing");
        Case { title, not_yet, steps }
    }

    /// The commands.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.is_run())
    }

    /// Replaces the commands' outcomes.
    pub(crate) fn set_runs(&mut self, runs: Vec<Step>) {
        for (step, run) in self.steps.iter_mut().filter(|step| step.is_run()).zip(runs) {
            *step = run;
        }
    }
}

impl Step {
    fn parse(text: &str) -> Step {
        let Some((head, text)) = text.split_once('\n') else {
            return Step { head: text.to_owned(), text: String::new() };
        };
        let mut step = Step { head: head.to_owned(), text: text.to_owned() };
        if step.is_run() {
            step.text.truncate(step.text.trim_end().len());
        } else {
            // The line end before the next step's mark.
            step.text.push('\n');
        }
        step
    }

    /// The tables and rows of an outcome, if there are any.
    pub(crate) fn tables(&self) -> Option<&str> {
        self.text.find("CREATE TABLE ").map(|at| &self.text[at..])
    }

    pub(crate) fn is_run(&self) -> bool {
        !self.head.starts_with("file ")
    }
}

impl fmt::Display for CaseFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.intro)?;
        for case in &self.cases {
            writeln!(f, "{TITLE}{}", case.title)?;
            if let Some(reason) = &case.not_yet {
                writeln!(f, "{NOT_YET}{reason}")?;
            }
            for step in &case.steps {
                writeln!(f, "{}{}", &STEP[1..], step.head)?;
                f.write_str(&step.text)?;
                if !step.text.is_empty() && !step.text.ends_with('\n') {
                    writeln!(f)?;
                }
            }
        }
        Ok(())
    }
}

#[test]
fn a_file_of_cases_is_written_as_it_is_read() {
    let text = "Some words.\n\n=== one\n--- file a.csv crlf\nid,n\n1,\n\n--- load --header\nCREATE\n\
                1|\n\n=== two\nnot yet: it is hard\n--- file b.csv\n--- load\nexit 2\n";
    let file = CaseFile::parse(text);
    assert_eq!(file.to_string(), text);
    assert_eq!(file.cases[0].steps[0].text, "id,n\n1,\n\n");
    assert_eq!(file.cases[0].runs().next().unwrap().text, "CREATE\n1|");
    assert_eq!(file.cases[1].not_yet.as_deref(), Some("it is hard"));
}
