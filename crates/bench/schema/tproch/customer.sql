CREATE TABLE customer (
  c_custkey INT NOT NULL,
  c_mktsegment CHAR(10) BINARY NULL,
  c_nationkey INT NULL,
  c_name VARCHAR(25) BINARY NULL,
  c_address VARCHAR(40) BINARY NULL,
  c_phone CHAR(15) BINARY NULL,
  c_acctbal DECIMAL(10,2) NULL,
  c_comment VARCHAR(118) BINARY NULL,
  PRIMARY KEY (c_custkey),
  KEY customer_nation_fkidx (c_nationkey)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
