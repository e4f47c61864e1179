-- Traffic of a web site: a partitioned table, a system-versioned one, a compressed one beside plain ones.
-- sent profile: ROW_FORMAT=COMPRESSED
CREATE TABLE site_user (
  id INT UNSIGNED NOT NULL,
  name VARCHAR(40) NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE hit (
  day DATE NOT NULL,
  user_id INT UNSIGNED DEFAULT NULL,
  path VARCHAR(120) NOT NULL,
  KEY day (day)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4
PARTITION BY HASH (TO_DAYS(day)) PARTITIONS 4;
CREATE TABLE profile (
  user_id INT UNSIGNED NOT NULL,
  settings TEXT,
  PRIMARY KEY (user_id),
  CONSTRAINT profile_user FOREIGN KEY (user_id) REFERENCES site_user (id) ON DELETE CASCADE
) ENGINE=InnoDB ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8 DEFAULT CHARSET=utf8mb4;
CREATE TABLE login (
  user_id INT UNSIGNED NOT NULL,
  at DATETIME(3) NOT NULL,
  agent VARCHAR(100) DEFAULT NULL,
  PRIMARY KEY (user_id, at),
  CONSTRAINT login_user FOREIGN KEY (user_id) REFERENCES site_user (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
