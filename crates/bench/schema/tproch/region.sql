CREATE TABLE region (
  r_regionkey INT NOT NULL,
  r_name CHAR(25) BINARY NULL,
  r_comment VARCHAR(152) BINARY NULL,
  PRIMARY KEY (r_regionkey)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
