-- Monitoring: identifiers given by the program, history without a primary key, widths that differ.
CREATE TABLE hstgrp (
  groupid bigint unsigned NOT NULL,
  name varchar(255) DEFAULT '' NOT NULL,
  flags integer DEFAULT '0' NOT NULL,
  uuid varchar(32) DEFAULT '' NOT NULL,
  PRIMARY KEY (groupid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE hosts (
  hostid bigint unsigned NOT NULL,
  proxy_hostid bigint unsigned NULL,
  host varchar(128) DEFAULT '' NOT NULL,
  status integer DEFAULT '0' NOT NULL,
  description text NOT NULL,
  PRIMARY KEY (hostid),
  KEY hosts_1 (host),
  CONSTRAINT c_hosts_1 FOREIGN KEY (proxy_hostid) REFERENCES hosts (hostid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE hosts_groups (
  hostgroupid bigint unsigned NOT NULL,
  hostid bigint unsigned NOT NULL,
  groupid bigint unsigned NOT NULL,
  PRIMARY KEY (hostgroupid),
  UNIQUE KEY hosts_groups_1 (hostid, groupid),
  KEY hosts_groups_2 (groupid),
  CONSTRAINT c_hosts_groups_1 FOREIGN KEY (hostid) REFERENCES hosts (hostid) ON DELETE CASCADE,
  CONSTRAINT c_hosts_groups_2 FOREIGN KEY (groupid) REFERENCES hstgrp (groupid) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE items (
  itemid bigint unsigned NOT NULL,
  hostid bigint unsigned NOT NULL,
  key_ varchar(2048) DEFAULT '' NOT NULL,
  delay varchar(1024) DEFAULT '0' NOT NULL,
  templateid bigint unsigned NULL,
  master_itemid bigint unsigned NULL,
  PRIMARY KEY (itemid),
  KEY items_1 (hostid, key_(764)),
  CONSTRAINT c_items_1 FOREIGN KEY (hostid) REFERENCES hosts (hostid) ON DELETE CASCADE,
  CONSTRAINT c_items_2 FOREIGN KEY (templateid) REFERENCES items (itemid) ON DELETE CASCADE,
  CONSTRAINT c_items_5 FOREIGN KEY (master_itemid) REFERENCES items (itemid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE history (
  itemid bigint unsigned NOT NULL,
  clock integer DEFAULT '0' NOT NULL,
  value DOUBLE PRECISION DEFAULT '0.0000' NOT NULL,
  ns integer DEFAULT '0' NOT NULL,
  KEY history_1 (itemid, clock)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE trends_uint (
  itemid bigint unsigned NOT NULL,
  clock integer DEFAULT '0' NOT NULL,
  num integer DEFAULT '0' NOT NULL,
  value_min bigint unsigned DEFAULT '0' NOT NULL,
  value_max bigint unsigned DEFAULT '0' NOT NULL,
  PRIMARY KEY (itemid, clock DESC)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
