CREATE TABLE nation (
  n_nationkey INT NOT NULL,
  n_name CHAR(25) BINARY NULL,
  n_regionkey INT NULL,
  n_comment VARCHAR(152) BINARY NULL,
  PRIMARY KEY (n_nationkey),
  KEY nation_regionkey_fkidx (n_regionkey)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
