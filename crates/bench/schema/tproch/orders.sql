-- KEY (o_custkey) is the index the server makes for the foreign key to customer.
CREATE TABLE orders (
  o_orderdate DATE NULL,
  o_orderkey BIGINT NOT NULL,
  o_custkey INT NOT NULL,
  o_orderpriority CHAR(15) BINARY NULL,
  o_shippriority INT NULL,
  o_clerk CHAR(15) BINARY NULL,
  o_orderstatus CHAR(1) BINARY NULL,
  o_totalprice DECIMAL(10,2) NULL,
  o_comment VARCHAR(79) BINARY NULL,
  PRIMARY KEY (o_orderkey),
  KEY orders_fk1 (o_custkey)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
