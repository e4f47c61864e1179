CREATE TABLE supplier (
  s_suppkey INT NOT NULL,
  s_nationkey INT NULL,
  s_comment VARCHAR(102) BINARY NULL,
  s_name CHAR(25) BINARY NULL,
  s_address VARCHAR(40) BINARY NULL,
  s_phone CHAR(15) BINARY NULL,
  s_acctbal DECIMAL(10,2) NULL,
  PRIMARY KEY (s_suppkey),
  KEY supplier_nation_fkidx (s_nationkey)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
