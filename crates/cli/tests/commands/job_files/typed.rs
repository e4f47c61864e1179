//! Faults of a job file are reported with their line, before anything is done.

use super::shop::{Shop, lines};
use crate::support::run;

#[test]
fn a_key_that_there_is_not_is_an_error_with_its_line_and_the_nearest() {
    let Some(mut shop) = Shop::new() else { return };
    let before = shop.state();
    for (from, to, said) in [
        (
            "header = true",
            "haeder = true",
            "job.toml line 6: input has no key haeder; did you mean header?",
        ),
        ("header = true", "header = \"yes\"", "line 6: header must be true or false"),
        (
            "header = true",
            "header = true\nmode = \"append\"",
            "line 7: input has no key mode: set it in each [[table]], or as --mode",
        ),
        ("header = true", "header = ", "job.toml line 6: "),
        ("[input]", "[inputs]", "a job file has no key inputs; did you mean input?"),
        (
            "name = \"orders\"",
            "nmae = \"orders\"",
            "line 20: table has no key nmae; did you mean name?",
        ),
        (
            "id_of = \"customers\"",
            "id_of = \"custmers\"",
            "custmers is not a [[table]] of the file; did you mean customers?",
        ),
        ("id_of = \"customers\"", "id_of = 5", "line 21: id_of is a number; a text"),
        ("key = [\"no\"]", "key = [\"number\"]", "key column number is not among the columns"),
        ("key = [\"no\"]", "key = [\"customer\"]", "key column customer gets neither a field"),
        ("entity = { key = [\"no\"], id = \"id\" }", "", "orders has no [table.entity] with an id"),
        (
            "ordered = \"ordered\"",
            "ordered = \"orderd\"",
            "the lines have no field orderd; they have no, ordered",
        ),
        ("ordered = \"ordered\"", "orderd = \"ordered\"", "has no column `orderd`"),
        (
            "ordered = \"ordered\"",
            "ordered = { value = 1, from = \"no\" }",
            "gets value, which excludes from",
        ),
        (
            "on_conflict = \"fail\"",
            "on_conflict = \"never\"",
            "on_conflict is \"never\"; one of fail, first, last, reject is expected",
        ),
        ("files = [\"wide.csv\"]", "", "no files are named"),
        ("into = ", "onto = ", "a job file has no key onto; did you mean into?"),
    ] {
        shop.edit(from, to);
        shop.load(&lines(5), &[]).refused(2, &[said]);
        assert_eq!(shop.state(), before, "{to}");
        match to.is_empty() {
            false => shop.edit(to, from),
            true => shop = Shop::new().unwrap(),
        }
    }
    let before = shop.state();
    run(shop.again().args(["--each"])).refused(2, &["--each"]);
    run(shop.again().args(["--columns", "a,b"]))
        .refused(2, &["--create and --columns are for one table: with a job file"]);
    run(shop.again().args(["--job", "none.toml"])).refused(2, &["reading the job file none.toml"]);
    assert_eq!(shop.state(), before);
}

#[test]
fn a_plan_says_how_all_get_their_rows_and_changes_nothing() {
    let Some(mut shop) = Shop::new() else { return };
    let text = lines(100);
    drop(shop.command(&text));
    let plan = |shop: &Shop, more: &[&str]| {
        let mut command = shop.desk.home.inrush(["plan", "-c", "job.toml", "--socket"]);
        command.arg(shop.desk.server.socket()).args(more);
        if let Some(user) = shop.desk.server.options().user {
            command.args(["--user", &user]);
        }
        run(&mut command)
    };
    let before = shop.state();
    let told = plan(&shop, &[]);
    told.done();
    assert!(
        told.out.contains("4 tables from") && told.out.contains("all published at once"),
        "{told:?}"
    );
    assert!(told.out.contains("estimates count one row of"), "{told:?}");
    assert_eq!(shop.state(), before);
    shop.load(&text, &[]).done();
    let before = shop.state();
    let told = plan(&shop, &["--mode", "append"]);
    told.done();
    assert!(told.out.contains("one transaction"), "{told:?}");
    assert_eq!(shop.state(), before);
    // What is typed counts more than the file.
    let other = shop.desk.home.file("other.csv", format!("{}{}", super::shop::HEADER, lines(1)));
    let told = plan(&shop, &["--mode", "replace", other.to_str().unwrap()]);
    assert!(told.out.contains("about 12 rows"), "{told:?}");
}

#[test]
fn a_job_file_to_begin_with_loads_what_was_looked_at() {
    let Some(mut shop) = Shop::new() else { return };
    let text = "no;name;price\n1;\"Ann; Lee\";1.50\n2;Bob;2.25\n";
    shop.desk.home.file("things.csv", text);
    let database = shop.desk.database.clone();
    let init = run(&mut shop.desk.home.inrush(["job", "init", "things.csv", "--into", &database]));
    init.done();
    for part in [
        "# things.csv: guessed from ",
        "fields_terminated_by = \";\"",
        "# [[rule]]",
        "# entity = {",
    ] {
        assert!(init.out.contains(part), "{part}: {}", init.out);
    }
    shop.desk.home.file("job.toml", &init.out);
    // The table is missing, and the file creates it.
    run(&mut shop.again()).done();
    assert_eq!(
        shop.desk.rows("SELECT * FROM things ORDER BY no"),
        ["1|Ann; Lee|1.50", "2|Bob|2.25"]
    );
    let other = init.out.replace("CREATE TABLE `things`", "CREATE TABLE `others`");
    shop.desk.home.file("job.toml", other);
    run(&mut shop.again())
        .refused(2, &["job.toml line ", "create of things must be one CREATE TABLE things (..)"]);
    let schema = run(&mut shop.desk.home.inrush(["job", "schema"]));
    assert!(schema.done().out.contains("\"on_conflict\""), "{schema:?}");
}

#[test]
fn rules_that_cannot_be_meant_are_errors_with_their_line() {
    let Some(mut shop) = Shop::new() else { return };
    let rule = |asks: &str| format!("[[rule]]\n{asks}\n\n[[table]]\nname = \"customers\"");
    let (plain, before) = ("[[table]]\nname = \"customers\"", shop.state());
    for (asks, said) in [
        ("field = \"no\"", "line 9: a [[rule]] has no condition"),
        ("required = true", "a [[rule]] has no field"),
        ("field = \"nope\"\nrequired = true", "the lines have no field nope"),
        ("field = \"no\"\nregex = \"(\"", "line 11: regex is not a regular expression"),
        ("compare = \"no\"", "no is not a comparison; two fields and one of <="),
        ("compare = \"no <\"", "does not name two fields"),
        ("field = \"no\"\nreferences = \"a.b\"", "a.b: DB.TABLE.COLUMN is expected"),
        ("field = \"no\"\nmin = \"1\"", "min is a text; a number"),
        ("field = \"no\"\nmax_lenght = 1", "rule has no key max_lenght; did you mean max_length?"),
    ] {
        shop.edit(plain, &rule(asks));
        shop.load(&lines(3), &[]).refused(2, &[said]);
        assert_eq!(shop.state(), before, "{asks}");
        shop.edit(&rule(asks), plain);
    }
}
