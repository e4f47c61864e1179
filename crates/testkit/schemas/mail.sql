-- Mail: domains, mailboxes, aliases, messages that answer each other, parts as they came.
CREATE TABLE domain (
  domain VARCHAR(255) CHARACTER SET ascii NOT NULL,
  backup_mx TINYINT(1) NOT NULL DEFAULT 0,
  created DATETIME NOT NULL DEFAULT '2000-01-01 00:00:00',
  PRIMARY KEY (domain)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE mailbox (
  username VARCHAR(64) CHARACTER SET ascii NOT NULL,
  domain VARCHAR(255) CHARACTER SET ascii NOT NULL,
  password VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  quota BIGINT(20) NOT NULL DEFAULT 0,
  PRIMARY KEY (username, domain),
  KEY domain (domain),
  CONSTRAINT mailbox_domain FOREIGN KEY (domain) REFERENCES domain (domain) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE alias (
  address VARCHAR(320) CHARACTER SET ascii NOT NULL,
  username VARCHAR(64) CHARACTER SET ascii NOT NULL,
  domain VARCHAR(255) CHARACTER SET ascii NOT NULL,
  UNIQUE KEY address (address),
  CONSTRAINT alias_mailbox FOREIGN KEY (username, domain) REFERENCES mailbox (username, domain) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE message (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  message_id VARCHAR(255) CHARACTER SET latin1 COLLATE latin1_bin DEFAULT NULL,
  in_reply_to BIGINT UNSIGNED DEFAULT NULL,
  subject TEXT,
  size INT UNSIGNED NOT NULL,
  internal_date DATETIME NOT NULL,
  flags SET('seen','answered','flagged','deleted','draft') NOT NULL DEFAULT '',
  PRIMARY KEY (id),
  UNIQUE KEY message_id (message_id),
  KEY subject (subject(30)),
  CONSTRAINT message_reply FOREIGN KEY (in_reply_to) REFERENCES message (id) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE message_part (
  message BIGINT UNSIGNED NOT NULL,
  part SMALLINT UNSIGNED NOT NULL,
  within SMALLINT UNSIGNED DEFAULT NULL,
  content_type VARCHAR(80) CHARACTER SET ascii NOT NULL DEFAULT 'text/plain',
  content LONGBLOB,
  PRIMARY KEY (message, part),
  CONSTRAINT part_message FOREIGN KEY (message) REFERENCES message (id) ON DELETE CASCADE,
  CONSTRAINT part_within FOREIGN KEY (message, within) REFERENCES message_part (message, part) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
