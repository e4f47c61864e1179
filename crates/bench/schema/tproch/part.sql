CREATE TABLE part (
  p_partkey INT NOT NULL,
  p_type VARCHAR(25) BINARY NULL,
  p_size INT NULL,
  p_brand CHAR(10) BINARY NULL,
  p_name VARCHAR(55) BINARY NULL,
  p_container CHAR(10) BINARY NULL,
  p_mfgr CHAR(25) BINARY NULL,
  p_retailprice DECIMAL(10,2) NULL,
  p_comment VARCHAR(23) BINARY NULL,
  PRIMARY KEY (p_partkey)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
