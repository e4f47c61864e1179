-- TPC-H lineitem as the headline figure loads it: dbgen's column order, two secondary keys.
CREATE TABLE lineitem (
  l_orderkey INT NOT NULL,
  l_partkey INT NOT NULL,
  l_suppkey INT NOT NULL,
  l_linenumber INT NOT NULL,
  l_quantity DECIMAL(10,2) NOT NULL,
  l_extendedprice DECIMAL(10,2) NOT NULL,
  l_discount DECIMAL(10,2) NOT NULL,
  l_tax DECIMAL(10,2) NOT NULL,
  l_returnflag CHAR(1) NOT NULL,
  l_linestatus CHAR(1) NOT NULL,
  l_shipdate DATE NOT NULL,
  l_commitdate DATE NOT NULL,
  l_receiptdate DATE NOT NULL,
  l_shipinstruct CHAR(25) NOT NULL,
  l_shipmode CHAR(10) NOT NULL,
  l_comment VARCHAR(44) NOT NULL,
  PRIMARY KEY (l_orderkey, l_linenumber),
  KEY (l_partkey, l_suppkey),
  KEY (l_shipdate)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
