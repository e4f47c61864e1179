-- HammerDB's foreign keys. Each finds the index that is there for it, and makes none.
ALTER TABLE nation ADD CONSTRAINT nation_ibfk_1 FOREIGN KEY (n_regionkey) REFERENCES region (r_regionkey);
ALTER TABLE supplier ADD CONSTRAINT supplier_ibfk_1 FOREIGN KEY (s_nationkey) REFERENCES nation (n_nationkey);
ALTER TABLE customer ADD CONSTRAINT customer_ibfk_1 FOREIGN KEY (c_nationkey) REFERENCES nation (n_nationkey);
ALTER TABLE partsupp
  ADD CONSTRAINT partsupp_ibfk_1 FOREIGN KEY (ps_partkey) REFERENCES part (p_partkey),
  ADD CONSTRAINT partsupp_ibfk_2 FOREIGN KEY (ps_suppkey) REFERENCES supplier (s_suppkey);
ALTER TABLE orders ADD CONSTRAINT orders_ibfk_1 FOREIGN KEY (o_custkey) REFERENCES customer (c_custkey);
ALTER TABLE lineitem
  ADD CONSTRAINT lineitem_ibfk_1 FOREIGN KEY (l_orderkey) REFERENCES orders (o_orderkey),
  ADD CONSTRAINT lineitem_ibfk_2 FOREIGN KEY (l_partkey, l_suppkey) REFERENCES partsupp (ps_partkey, ps_suppkey);
