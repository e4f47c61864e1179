//! The variables of our sessions are ours, whatever a server's own are.

use std::collections::BTreeMap;

use server::engine::Kind;
use server::{Error, Session};
use testkit::TestServer;

/// Variables of a session that stay the server's, by why they may.
const THE_SERVERS: [(&str, &str); 14] = [
    (
        "another name of one of ours",
        "old_alter_table storage_engine transaction_isolation transaction_read_only",
    ),
    (
        "said by the server, or of one statement",
        "error_count external_user identity redirect_url in_transaction insert_id last_gtid last_insert_id \
         proxy_user pseudo_slave_mode pseudo_replica_mode pseudo_thread_id rand_seed1 rand_seed2 \
         skip_parallel_replication skip_replication statement_id timestamp warning_count \
         default_master_connection sql_slave_skip_counter immediate_server_version \
         original_commit_timestamp original_server_version require_row_format",
    ),
    ("the server's by design", "time_zone auto_increment_increment auto_increment_offset"),
    (
        "what new databases and tables are like",
        "character_set_collations character_set_database character_set_server collation_connection \
         collation_database collation_server default_table_encryption default_tmp_storage_engine \
         innodb_compression_default innodb_default_encryption_key_id sql_require_primary_key \
         sql_generate_invisible_primary_key restrict_fk_on_non_standard_key \
         external_table_secondary_storage_engine external_table_storage_engine \
         internal_tmp_mem_storage_engine create_tmp_table_binlog_formats",
    ),
    (
        "replication",
        "binlog_alter_two_phase binlog_annotate_row_events binlog_direct_non_transactional_updates \
         binlog_format binlog_row_event_fragment_threshold binlog_row_image binlog_row_value_options \
         binlog_rows_query_log_events binlog_transaction_compression \
         binlog_transaction_compression_level_zstd group_replication_consistency gtid_domain_id \
         gtid_next gtid_seq_no max_relay_log_size rbr_exec_mode server_id sql_log_bin \
         transaction_allow_batching wsrep_causal_reads wsrep_gtid_seq_no wsrep_on \
         wsrep_retry_autocommit wsrep_sync_wait wsrep_trx_fragment_size wsrep_trx_fragment_unit \
         xa_detach_on_prepare slave_connections_needed_for_purge",
    ),
    (
        "logs and what is told besides",
        "debug debug_sync log_disabled_statements log_queries_not_using_indexes \
         log_slow_admin_statements log_slow_always_query_time log_slow_disabled_statements \
         log_slow_filter log_slow_max_warnings log_slow_min_examined_row_limit log_slow_query \
         log_slow_query_time log_slow_rate_limit log_slow_slave_statements log_slow_verbosity \
         log_warnings long_query_time min_examined_row_limit profiling profiling_history_size \
         progress_report_time query_cache_strip_comments session_track_gtids session_track_schema \
         session_track_state_change session_track_system_variables session_track_transaction_info \
         slow_query_log sql_log_off optimizer_record_context optimizer_trace \
         optimizer_trace_features optimizer_trace_limit optimizer_trace_max_mem_size \
         optimizer_trace_offset print_identified_with_as_hex terminology_use_previous \
         explain_format explain_json_format_version end_markers_in_json \
         global_connection_memory_tracking",
    ),
    (
        "plans, which read the same rows",
        "analyze_max_length analyze_sample_percentage aria_stats_method eq_range_index_dive_limit \
         expensive_subquery_limit histogram_generation_max_mem_size histogram_size histogram_type \
         in_predicate_conversion_threshold join_cache_level max_length_for_sort_data \
         max_rowid_filter_size max_seeks_for_key myisam_stats_method use_stat_tables \
         use_secondary_engine secondary_engine_cost_threshold enable_secondary_engine_statistics \
         windowing_use_high_precision",
    ),
    ("plans", "optimizer_"),
    (
        "memory and its kinds",
        "aria_sort_buffer_size big_tables bulk_insert_buffer_size connection_memory_chunk_size \
         connection_memory_limit innodb_ddl_buffer_size join_buffer_size join_buffer_space_limit \
         max_heap_table_size mrr_buffer_size myisam_sort_buffer_size net_buffer_length \
         preload_buffer_size query_alloc_block_size query_prealloc_size range_alloc_block_size \
         range_optimizer_max_mem_size read_buffer_size read_rnd_buffer_size rowid_merge_buff_size \
         select_into_buffer_size set_operations_buffer_size sort_buffer_size \
         tmp_memory_table_size tmp_table_size transaction_alloc_block_size \
         transaction_prealloc_size max_tmp_session_space_usage join_buffer_alloc",
    ),
    (
        "speed and places of files",
        "aria_repair_threads character_set_filesystem column_compression_threshold \
         column_compression_zlib_level column_compression_zlib_strategy \
         column_compression_zlib_wrap deadlock_search_depth_long deadlock_search_depth_short \
         deadlock_timeout_long deadlock_timeout_short innodb_ddl_threads \
         innodb_parallel_read_threads innodb_tmpdir keep_files_on_create myisam_repair_threads \
         net_retry_count query_cache_type query_cache_wlock_invalidate select_into_disk_sync \
         select_into_disk_sync_delay tcp_nodelay thread_pool_priority mhnsw_ef_search \
         mhnsw_default_distance mhnsw_default_m",
    ),
    (
        "of full-text indexes, as an administrator sets them up",
        "innodb_ft_enable_stopword innodb_ft_user_stopword_table",
    ),
    (
        "a limit that refuses in the server's words",
        "cte_max_recursion_depth max_allowed_packet max_delayed_threads max_insert_delayed_threads \
         max_points_in_geometry max_recursive_iterations max_sp_recursion_depth max_tmp_tables \
         max_user_connections max_open_cursors",
    ),
    ("passwords", "generated_random_password_length old_passwords"),
    (
        "conflicts, which are loud",
        "innodb_snapshot_isolation max_error_count low_priority_updates innodb_strict_mode",
    ),
];

/// Why a variable may stay the server's; none where nobody has judged it.
fn why(name: &str) -> Option<&'static str> {
    let is_there = |names: &str| {
        names
            .split_whitespace()
            .any(|one| one == name || (one.ends_with('_') && name.starts_with(one)))
    };
    THE_SERVERS.iter().find(|(_, names)| is_there(names)).map(|(why, _)| *why)
}

/// A variable of a session, with values that it may have for all sessions.
struct Candidate {
    name: String,
    before: Option<String>,
    others: Vec<String>,
}

/// All variables of a session of this server.
fn candidates(session: &mut Session) -> Vec<Candidate> {
    let rows = session
        .query(
            "SELECT LOWER(VARIABLE_NAME), GLOBAL_VALUE, VARIABLE_TYPE, ENUM_VALUE_LIST, \
             NUMERIC_MIN_VALUE, NUMERIC_MAX_VALUE FROM information_schema.SYSTEM_VARIABLES \
             WHERE VARIABLE_SCOPE LIKE 'SESSION%' ORDER BY 1",
        )
        .unwrap();
    let candidate = |row: &server::Row| {
        let text = |column| row.text_or_null(column).unwrap();
        let (before, kind) = (text(1), text(2).unwrap());
        let mut others: Vec<String> = match kind.as_str() {
            "BOOLEAN" | "ENUM" => {
                text(3).unwrap_or_default().split(',').map(str::to_owned).collect()
            }
            "SET" => [String::new()].into_iter().chain(text(3)).collect(),
            "VARCHAR" | "FLAGSET" => Vec::new(),
            _ => {
                let most = text(5).unwrap_or_default();
                let half = most.parse::<f64>().unwrap_or(2.0) / 2.0;
                [text(4).unwrap_or_default(), format!("{half:.0}"), most].into()
            }
        };
        others.retain(|other| Some(other) != before.as_ref());
        Candidate { name: text(0).unwrap(), before, others }
    };
    rows.iter().map(candidate).collect()
}

fn literal(value: &str) -> String {
    match value.parse::<f64>() {
        Ok(_) => value.to_owned(),
        Err(_) => format!("'{value}'"),
    }
}

#[test]
fn each_variable_of_a_session_is_ours_or_was_judged() {
    let Some(server) = TestServer::shared() else { return };
    let mut session = server.connect().unwrap();
    let names: Vec<String> = candidates(&mut session).into_iter().map(|one| one.name).collect();
    let read_only_where_other = ["enforce_storage_engine", "system_versioning_asof"];
    let unjudged: Vec<&String> = names
        .iter()
        .filter(|name| session.variable(name).is_none() && why(name).is_none())
        .filter(|name| !read_only_where_other.contains(&name.as_str()))
        .collect();
    assert!(unjudged.is_empty(), "neither ours nor judged: {unjudged:?}");
}

/// One at a time: what is ours is the same, and what cannot be is refused by its name.
#[test]
fn a_session_is_the_same_whatever_the_server_is_set_to() {
    let Some(server) = TestServer::start() else { return };
    let mut administrator = server.connect().unwrap();
    let ours = |session: &mut Session, names: &[String]| -> BTreeMap<String, Option<String>> {
        let columns: Vec<String> = names.iter().map(|name| format!("@@SESSION.{name}")).collect();
        let row = session.query_row(&format!("SELECT {}", columns.join(", "))).unwrap();
        let value = |at| row.text_or_null(at).unwrap();
        names.iter().cloned().enumerate().map(|(at, name)| (name, value(at))).collect()
    };
    let candidates = candidates(&mut administrator);
    let names = candidates.iter().map(|one| one.name.clone());
    let names: Vec<String> = names.filter(|name| administrator.variable(name).is_some()).collect();
    assert!(names.len() > 50, "{names:?}");
    let expected = ours(&mut administrator, &names);
    let mut tried = 0;
    for Candidate { name, before, others } in candidates {
        for value in others {
            let set = format!("SET GLOBAL {name}={}", literal(&value));
            if administrator.exec(&set).is_err() {
                continue;
            }
            tried += 1;
            match server.connect() {
                Ok(mut session) => {
                    assert_eq!(ours(&mut session, &names), expected, "{set}");
                    session.check_variables().unwrap_or_else(|error| panic!("{set}: {error}"));
                }
                Err(error) => assert!(error.to_string().contains(&name), "{set}: {error}"),
            }
        }
        let before = before.as_deref().map_or_else(|| "NULL".to_owned(), literal);
        let _ = administrator.exec(&format!("SET GLOBAL {name}={before}"));
    }
    assert!(tried > 250, "{tried}");
}

#[test]
fn a_variable_that_somebody_changes_is_named_with_both_values() {
    let Some(server) = TestServer::shared() else { return };
    let mut session = server.connect().unwrap();
    session.check_in_step().unwrap();
    // As a proxy does that gives a session the server's values, or a trigger.
    session.exec("SET SESSION sql_select_limit=10").unwrap();
    for check in [Session::check_variables, Session::check_in_step] {
        let error = check(&mut session).unwrap_err();
        assert!(matches!(error, Error::Variable { .. }), "{error}");
        let text = error.to_string();
        assert!(
            text.contains("sql_select_limit is 10, but Inrush had set it to 18446744073709551615"),
            "{text}"
        );
    }
    // Who asks whether the connection is there gets an answer.
    assert!(session.is_alive());
    session.set(&[("sql_select_limit", "5")]).unwrap();
    session.check_variables().unwrap();
    session.reset(&["sql_select_limit"]).unwrap();
    session.check_variables().unwrap();
}

#[test]
fn a_variable_that_cannot_be_ours_is_refused_by_its_name() {
    let Some(server) = TestServer::start() else { return };
    let mut administrator = server.connect().unwrap();
    if Kind::of_version(administrator.version()) != Kind::Plain {
        return;
    }
    administrator.exec("SET GLOBAL system_versioning_asof='2020-01-01'").unwrap();
    let error = server.connect().err().unwrap().to_string();
    assert!(error.contains("system_versioning_asof is 2020-01-01"), "{error}");
    administrator.exec("SET GLOBAL system_versioning_asof=DEFAULT").unwrap();
    // Whoever may, sets the engine; whoever may not, hears of it when there is something to load.
    administrator.exec("SET GLOBAL enforce_storage_engine=MyISAM").unwrap();
    administrator.exec("CREATE USER modest@localhost").unwrap();
    assert_eq!(server.connect().unwrap().enforced_engine(), None);
    let mut modest = server.options();
    modest.user = Some("modest".to_owned());
    assert_eq!(Session::connect(&modest).unwrap().enforced_engine(), Some("MyISAM"));
    administrator.exec("SET GLOBAL enforce_storage_engine=InnoDB").unwrap();
    assert_eq!(Session::connect(&modest).unwrap().enforced_engine(), None);
}
