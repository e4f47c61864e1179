-- The table of sysbench and of PolarDB-X's document on batch inserts. AUTO_INCREMENT, which only
-- sysbench has, is left out: every way is given the ids.
CREATE TABLE sbtest1 (
    id int NOT NULL,
    k int NOT NULL DEFAULT 0,
    c char(120) NOT NULL DEFAULT '',
    pad char(60) NOT NULL DEFAULT '',
    PRIMARY KEY (id),
    KEY k_1 (k)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
