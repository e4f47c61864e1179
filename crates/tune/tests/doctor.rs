//! Servers set up badly, and what is found of them.

use std::path::PathBuf;

use server::Session;
use testkit::{TestServer, TestServerOptions};
use tune::gain::Gain;
use tune::host::Host;
use tune::storage::{Device, Storage};
use tune::{Facts, Finding, Gains, Weight, findings};

/// Weight and name of each finding, but for what depends on this machine.
fn told(found: &[Finding]) -> Vec<(Weight, &str)> {
    let of_machine = [
        "tmpdir",
        "disk of the data directory",
        "transparent huge pages",
        "processor governor",
        "swap",
        "atomic writes",
        "innodb_flush_neighbors",
        "mount option",
    ];
    let found = found.iter().filter(|finding| !of_machine.contains(&finding.what.as_str()));
    found.map(|finding| (finding.weight, finding.what.as_str())).collect()
}

fn has(found: &[Finding], weight: Weight, what: &str) -> Finding {
    let one = found.iter().find(|finding| finding.weight == weight && finding.what == what);
    one.unwrap_or_else(|| panic!("no {weight:?} {what} in {:?}", told(found))).clone()
}

fn options(extra: &[&str]) -> TestServerOptions {
    let extra = extra.iter().map(|&option| option.to_owned()).collect();
    TestServerOptions { durable: true, extra, ..TestServerOptions::default() }
}

#[test]
fn bad_settings_are_found_and_dangerous_ones_called_so() {
    let Some(server) = TestServer::start_with(&options(&[
        "--innodb-flush-method=nosync",
        "--skip-innodb-doublewrite",
        "--innodb-flush-log-at-trx-commit=2",
        "--innodb-checksum-algorithm=crc32",
        "--innodb-log-file-size=8M",
        "--innodb-max-dirty-pages-pct=20",
        "--innodb-adaptive-hash-index=ON",
        "--loose-innodb-change-buffering=all",
        "--innodb-file-per-table=OFF",
        "--log-bin=b",
        "--binlog-format=ROW",
        "--rpl-semi-sync-master-enabled=ON",
    ])) else {
        return;
    };
    let mut facts = Facts::examine(&mut server.connect().unwrap()).unwrap();
    let found = findings(&facts, None);
    for what in ["innodb_doublewrite", "innodb_flush_log_at_trx_commit", "innodb_flush_method"] {
        let finding = has(&found, Weight::Danger, what);
        assert!(!finding.risk.is_empty() && !finding.better.is_empty(), "{finding:?}");
    }
    let torn = has(&found, Weight::Danger, "innodb_doublewrite");
    assert!(torn.risk.contains("half old") && torn.why.contains("atomically"), "{torn:?}");
    for (weight, what) in [
        (Weight::Heavy, "direct path"),
        (Weight::Heavy, "innodb_checksum_algorithm"),
        (Weight::Heavy, "innodb_log_file_size"),
        (Weight::Heavy, "rpl_semi_sync_master_enabled"),
        (Weight::Medium, "innodb_max_dirty_pages_pct"),
        (Weight::Light, "innodb_adaptive_hash_index"),
        (Weight::Light, "innodb_autoinc_lock_mode"),
        (Weight::Light, "innodb_log_buffer_size"),
        (Weight::Light, "innodb_sort_buffer_size"),
        (Weight::Note, "log_bin"),
    ] {
        has(&found, weight, what);
    }
    let closed: Vec<&str> =
        found.iter().filter(|f| f.what == "direct path").map(|f| &*f.now).collect();
    assert!(closed.iter().any(|now| now.contains("binary log")), "{closed:?}");
    assert!(closed.iter().any(|now| now.contains("file_per_table")), "{closed:?}");
    let percent = has(&found, Weight::Medium, "innodb_max_dirty_pages_pct");
    assert_eq!(percent.how[1..], ["SET GLOBAL innodb_max_dirty_pages_pct=90"]);
    let counter = has(&found, Weight::Light, "innodb_autoinc_lock_mode");
    assert!(counter.how[0].contains("in [mysqld] of my.cnf: innodb_autoinc_lock_mode=2"));
    if facts.text("innodb_change_buffering").is_some() {
        has(&found, Weight::Medium, "innodb_change_buffering");
    }
    facts.variables.insert("innodb_checksum_algorithm".to_owned(), "none".to_owned());
    has(&findings(&facts, None), Weight::Danger, "innodb_checksum_algorithm");
    let weights: Vec<Weight> = found.iter().map(|finding| finding.weight).collect();
    assert!(weights.is_sorted(), "{weights:?}");
    // The same server on other machines and disks.
    on_bad_disks(&mut facts);
    on_a_bad_machine(&mut facts);
}

fn on_bad_disks(facts: &mut Facts) {
    let device = Device {
        name: "nvme0n1".to_owned(),
        rotates: Some(false),
        scheduler: Some("bfq".to_owned()),
        atomic_write_bytes: 16_384,
    };
    let names = ["data=journal", "nobarrier", "strictatime", "sync"];
    let storage = Storage {
        path: PathBuf::from("/data"),
        file_system: "ext4".to_owned(),
        options: names.map(str::to_owned).to_vec(),
        device: Some(device),
        free_bytes: 4_096,
    };
    facts.tables = Some(tune::facts::Tables { largest_bytes: 9_000, ..Default::default() });
    (facts.data, facts.temporary) = (Some(storage.clone()), Some(storage));
    let found = findings(facts, None);
    let torn = has(&found, Weight::Danger, "innodb_doublewrite");
    assert!(torn.why.contains("even with data=journal, a power cut may leave a page"), "{torn:?}");
    let options: Vec<&str> =
        found.iter().filter(|f| f.what == "mount option").map(|f| &*f.now).collect();
    assert_eq!(options, ["nobarrier", "sync", "data=journal", "strictatime"]);
    has(&found, Weight::Medium, "I/O scheduler");
    has(&found, Weight::Medium, "tmpdir");
    has(&found, Weight::Heavy, "free space of the data directory");
    has(&found, Weight::Light, "innodb_flush_neighbors");
    facts.data.as_mut().unwrap().file_system = "zfs".to_owned();
    let found = findings(facts, None);
    assert!(!told(&found).contains(&(Weight::Danger, "innodb_doublewrite")));
    facts.variables.insert("innodb_doublewrite".to_owned(), "ON".to_owned());
    let twice = has(&findings(facts, None), Weight::Medium, "innodb_doublewrite");
    assert_eq!(twice.better, "OFF");
}

fn on_a_bad_machine(facts: &mut Facts) {
    const GIB: u64 = 1 << 30;
    facts.tables = Some(tune::facts::Tables {
        data_bytes: 20 * GIB,
        index_bytes: 20 * GIB,
        largest_bytes: GIB,
    });
    let host = Host {
        memory_bytes: 64 * GIB,
        available_bytes: 60 * GIB,
        swapped_bytes: GIB,
        swappiness: Some(60),
        huge_pages: Some("always".to_owned()),
        governor: Some("powersave".to_owned()),
    };
    facts.host = Some(host.clone());
    let found = findings(facts, None);
    has(&found, Weight::Medium, "swap");
    has(&found, Weight::Light, "transparent huge pages");
    has(&found, Weight::Light, "processor governor");
    let pool = has(&found, Weight::Heavy, "innodb_buffer_pool_size");
    let better: u64 = pool.better.parse().unwrap();
    assert!(better > 30 * GIB && better <= 64 * GIB * 6 / 10, "{pool:?}");
    // The pool that is there is too large for a small machine, and is not made larger.
    let memory_bytes = facts.count("innodb_buffer_pool_size").unwrap();
    facts.host = Some(Host { memory_bytes, available_bytes: 0, ..host });
    let found = findings(facts, None);
    let pools = found.iter().filter(|f| f.what == "innodb_buffer_pool_size");
    let pools: Vec<&str> = pools.map(|finding| finding.better.as_str()).collect();
    assert!(pools.len() == 1 && pools[0].starts_with("at most "), "{pools:?}");
}

#[test]
fn a_server_as_it_should_be_is_left_alone_and_an_account_without_rights_is_told_so() {
    let Some(server) = TestServer::start_with(&options(&[
        "--innodb-log-file-size=1G",
        "--innodb-log-buffer-size=64M",
        "--innodb-sort-buffer-size=64M",
        "--innodb-autoinc-lock-mode=2",
        "--innodb-io-capacity=2000",
        "--innodb-io-capacity-max=10000",
        "--innodb-flush-method=O_DIRECT",
    ])) else {
        return;
    };
    let mut session = server.connect().unwrap();
    let found = findings(&Facts::examine(&mut session).unwrap(), None);
    assert_eq!(told(&found), [(Weight::Heavy, "innodb_flush_log_at_trx_commit")]);
    let commit = "SET GLOBAL innodb_flush_log_at_trx_commit=2; after the load SET GLOBAL innodb_flush_log_at_trx_commit=1";
    assert_eq!(found.iter().find(|f| f.weight == Weight::Heavy).unwrap().how[1..], [commit]);

    // What was measured on this machine counts more than what is said elsewhere.
    let gain = Gain {
        variable: "innodb_flush_log_at_trx_commit".to_owned(),
        value: "2".to_owned(),
        default_seconds: 10.0,
        seconds: 8.5,
    };
    let gains = Gains { lines: 9, gains: vec![gain], ..Gains::default() };
    let found = findings(&Facts::read(&mut session).unwrap(), Some(&gains));
    let commit = has(&found, Weight::Medium, "innodb_flush_log_at_trx_commit");
    assert!(commit.gain.unwrap().starts_with("15 % less time here: 8.50 s"));

    session.exec("CREATE USER few@localhost IDENTIFIED BY 'few'").unwrap();
    let mut few = server.options();
    few.user = Some("few".to_owned());
    few.password = Some("few".to_owned().into());
    let facts = Facts::examine(&mut Session::connect(&few).unwrap()).unwrap();
    assert!(!facts.may_set());
    assert!(facts.unread.iter().any(|text| text.contains("this account may not read")));
    let found = findings(&facts, None);
    assert_eq!(told(&found), [(Weight::Heavy, "innodb_flush_log_at_trx_commit")]);
    let commit = found.iter().find(|f| f.weight == Weight::Heavy).unwrap();
    assert_eq!(commit.how[1], "with an account that has SUPER; this account lacks it");
}
