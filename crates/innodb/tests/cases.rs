//! Tables for the tests with a server: every kind of column, key and row the crate builds.

/// A table `p.<name>_source`: how to make and fill it, and changes to try on it.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    /// Columns, keys and options; `{KEYS}` are 63 of them.
    columns: &'static str,
    /// SELECT that fills it.
    rows: &'static str,
    /// Statements; `{T}` is the table.
    change: &'static str,
    /// Levels its highest tree must have for the test to mean something.
    pub(crate) levels_min: usize,
}

impl Case {
    pub(crate) fn create(&self) -> String {
        let keys: String = (0..63).map(|key| format!(", key k{key} (w, v)")).collect();
        format!("create table p.{}_source {}", self.name, self.columns.replace("{KEYS}", &keys))
    }

    pub(crate) fn fill(&self) -> String {
        format!("insert into p.{}_source {}", self.name, self.rows)
    }

    pub(crate) fn change(&self, table: &str) -> String {
        self.change.replace("{T}", &format!("p.{table}"))
    }
}

const MIXED: Case = Case {
    name: "mixed",
    columns: "(a int unsigned not null, b varchar(20) character set utf8mb4 not null, c tinyint,
        d bigint, e decimal(30,5), f double, g date, h datetime(3),
        i char(10) character set utf8mb4, j char(5) character set latin1 not null,
        k varchar(700) character set latin1, l varbinary(40) not null, m text,
        n enum('x','y','z'), o bit(12), s set('p','q','r') not null, t timestamp(6) null, y year,
        primary key (a, b), unique key (d), key (m(20)), key (k), key (i, j),
        key (b(7) desc, g), key (e, f, n), key (c), key (l), key (h, o), key (s, t, y)
        ) engine=innodb row_format=dynamic",
    rows: "select seq div 3, concat('key ', seq, if(seq % 2, 'ü', '')),
        if(seq % 5 = 0, null, seq % 100 - 50), seq * 7919 % 1000003,
        if(seq % 7 = 0, null, seq * 12345.678 - 100000000), if(seq % 11 = 0, null, sin(seq)),
        if(seq % 3 = 0, null, '2020-01-01' + interval seq % 5000 day),
        '1999-12-31 23:59:59.123' + interval seq second,
        repeat(char(97 + seq % 26 using utf8mb4), seq % 11), lpad(seq % 9973, 5, '0'),
        if(seq % 13 = 0, null, concat(md5(seq), repeat('long ', 100 + seq % 30))),
        left(unhex(sha1(seq)), seq % 20), if(seq % 17 = 0, null, repeat(md5(seq), seq % 9)),
        elt(1 + seq % 4, 'x', 'y', 'z', null), seq % 4096, seq % 8,
        if(seq % 19 = 0, null, '2001-02-03 04:05:06.789' + interval seq minute), 1970 + seq % 100
        from seq_1_to_15000",
    change: "delete from {T} where a % 7 = 3;
        update {T} set k = concat('changed ', k), c = c + 1 where a % 5 = 1;
        update {T} set a = a + 1000000 where a % 11 = 2;
        insert into {T} select a + 2000000, b, c, d + 2000000, e, f, g, h, i, j, k, l, m, n, o, s,
            t, y from {T} where a % 3 = 1 and a < 1000000",
    levels_min: 3,
};

const LARGE_ROWS: &str = "select seq, if(seq % 3, repeat('n', seq * 37 % 5001), null),
    repeat(unhex('00ff10'), seq * 101 % 3000),
    if(seq % 5, repeat('body é ', case seq % 4 when 0 then seq % 200
        when 1 then 2041 * (1 + seq % 3) else seq * 13 % 9000 end), null),
    if(seq % 7, repeat('e', seq * 77 % 65000), null), seq from seq_1_to_3000";

const LARGE_CHANGE: &str = "delete from {T} where id % 5 = 3;
    update {T} set body = concat(body, ' and more'), extra = null where id % 4 = 1;
    update {T} set small = repeat('s', 20000) where id % 9 = 2;
    insert into {T} (name, small, body, extra, fixed)
        select name, small, body, extra, 'again' from {T} where id % 6 = 1 order by id";

const DYNAMIC: Case = Case {
    name: "dynamic",
    columns: "(id int unsigned not null auto_increment, name varchar(5000) character set latin1,
        small mediumblob, body longtext character set utf8mb4, extra blob,
        fixed char(20) character set latin1 not null,
        primary key (id), key (name(50)), key (body(30), fixed)) engine=innodb row_format=dynamic",
    rows: LARGE_ROWS,
    change: LARGE_CHANGE,
    levels_min: 2,
};

const COMPACT: Case = Case {
    name: "compact",
    columns: "(id int unsigned not null auto_increment, name varchar(5000) character set latin1,
        small mediumblob, body longtext character set utf8mb4, extra blob,
        fixed char(20) character set latin1 not null,
        primary key (id), key (name(50)), key (body(30), fixed)) engine=innodb row_format=compact",
    rows: LARGE_ROWS,
    change: LARGE_CHANGE,
    levels_min: 2,
};

const HIDDEN_KEY: Case = Case {
    name: "hidden_key",
    columns: "(v varchar(30), w int, key (w), key (v)) engine=innodb",
    rows: "select if(seq % 9, concat('v', seq % 777), null), seq % 1000 from seq_1_to_5000",
    change: "delete from {T} where w % 7 = 3; update {T} set w = w + 1 where v like '%7';
        insert into {T} values ('new', 1)",
    levels_min: 2,
};

const EMPTY: Case = Case {
    name: "empty",
    columns: "(id int auto_increment primary key, w int, key (w)) engine=innodb",
    rows: "select 1, 1 from dual where false",
    change: "insert into {T} (w) select seq from seq_1_to_3000; delete from {T} where w % 3 = 1",
    levels_min: 1,
};

const ONE_ROW: Case = Case {
    name: "one_row",
    columns: "(id int auto_increment primary key, w int, key (w)) engine=innodb",
    rows: "values (17, 4)",
    change: "insert into {T} (w) select seq from seq_1_to_3000; delete from {T} where w % 3 = 1",
    levels_min: 1,
};

/// Also the rows of a file with more than 16,384 pages: two of them on a page.
pub(crate) const NARROW: Case = Case {
    name: "narrow",
    columns: "(id int primary key, w int, key (w)) engine=innodb",
    rows: "select seq, seq % 1000 from seq_1_to_36000",
    change: "delete from {T} where id % 100 = 3; update {T} set w = w + 1 where id % 90 = 5;
        insert into {T} select id + 1000000, w from {T} where id % 50 = 1",
    levels_min: 2,
};

pub(crate) const CASES: [Case; 7] = [MIXED, DYNAMIC, COMPACT, HIDDEN_KEY, EMPTY, ONE_ROW, NARROW];
