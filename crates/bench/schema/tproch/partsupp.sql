-- ps_supplycost is INT here while dbgen writes cents: the server rounds half away from zero, without a warning.
CREATE TABLE partsupp (
  ps_partkey INT NOT NULL,
  ps_suppkey INT NOT NULL,
  ps_supplycost INT NOT NULL,
  ps_availqty INT NULL,
  ps_comment VARCHAR(199) BINARY NULL,
  PRIMARY KEY (ps_partkey, ps_suppkey),
  KEY partsupp_part_fkidx (ps_partkey),
  KEY partsupp_supplier_fkidx (ps_suppkey)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
