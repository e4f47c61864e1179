-- Telephony: call records of many columns, rates by longest prefix, small fixed widths.
CREATE TABLE carrier (
  id TINYINT UNSIGNED NOT NULL AUTO_INCREMENT,
  name CHAR(20) NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=latin1 ROW_FORMAT=COMPACT;
CREATE TABLE rate (
  carrier_id TINYINT UNSIGNED NOT NULL,
  prefix VARCHAR(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  valid_from DATE NOT NULL,
  per_minute DECIMAL(9,6) NOT NULL,
  PRIMARY KEY (prefix, carrier_id, valid_from DESC),
  CONSTRAINT rate_carrier FOREIGN KEY (carrier_id) REFERENCES carrier (id) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=latin1 ROW_FORMAT=COMPACT;
CREATE TABLE cdr (
  id BIGINT NOT NULL AUTO_INCREMENT,
  calldate DATETIME NOT NULL,
  clid VARCHAR(80) NOT NULL DEFAULT '',
  src VARCHAR(80) NOT NULL DEFAULT '',
  dst VARCHAR(80) NOT NULL DEFAULT '',
  dcontext VARCHAR(80) NOT NULL DEFAULT '',
  channel VARCHAR(80) NOT NULL DEFAULT '',
  duration INT NOT NULL DEFAULT 0,
  billsec INT NOT NULL DEFAULT 0,
  disposition VARCHAR(45) NOT NULL DEFAULT '',
  amaflags INT NOT NULL DEFAULT 0,
  carrier_id TINYINT UNSIGNED DEFAULT NULL,
  uniqueid VARCHAR(32) NOT NULL DEFAULT '',
  userfield VARCHAR(255) NOT NULL DEFAULT '',
  PRIMARY KEY (id),
  KEY calldate (calldate),
  KEY dst (dst),
  CONSTRAINT cdr_carrier FOREIGN KEY (carrier_id) REFERENCES carrier (id) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE voicemail (
  uniqueid INT(4) NOT NULL AUTO_INCREMENT,
  mailbox VARCHAR(10) NOT NULL,
  recording LONGBLOB,
  heard BIT(1) DEFAULT NULL,
  PRIMARY KEY (uniqueid),
  KEY mailbox (mailbox, heard)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
