-- A bank's ledger: double entry, checks on every amount, nothing is ever deleted.
-- sent ledger_account: CHECK constraint
-- sent posting: CHECK constraint
CREATE TABLE currency (
  code CHAR(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  digits TINYINT UNSIGNED NOT NULL DEFAULT 2,
  name VARCHAR(60) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE ledger_account (
  number DECIMAL(20,0) NOT NULL,
  currency CHAR(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  kind ENUM('asset','liability','income','expense') NOT NULL,
  opened DATE NOT NULL,
  closed DATE DEFAULT NULL,
  iban VARCHAR(34) CHARACTER SET ascii DEFAULT NULL,
  PRIMARY KEY (number),
  UNIQUE KEY iban (iban),
  UNIQUE KEY with_currency (number, currency),
  CONSTRAINT account_currency FOREIGN KEY (currency) REFERENCES currency (code) ON UPDATE RESTRICT ON DELETE RESTRICT,
  CONSTRAINT closed_after_opened CHECK (closed IS NULL OR closed >= opened)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE journal_entry (
  id BIGINT UNSIGNED NOT NULL,
  booked DATETIME(6) NOT NULL,
  reverses BIGINT UNSIGNED DEFAULT NULL,
  text VARCHAR(140) NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY reversed_once (reverses),
  CONSTRAINT reversal FOREIGN KEY (reverses) REFERENCES journal_entry (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE posting (
  entry BIGINT UNSIGNED NOT NULL,
  line INT UNSIGNED NOT NULL,
  account DECIMAL(20,0) NOT NULL,
  currency CHAR(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  debit DECIMAL(30,8) DEFAULT NULL,
  credit DECIMAL(30,8) DEFAULT NULL,
  PRIMARY KEY (entry, line),
  KEY statement (account, currency, entry DESC),
  CONSTRAINT posting_entry FOREIGN KEY (entry) REFERENCES journal_entry (id),
  CONSTRAINT posting_account FOREIGN KEY (account, currency) REFERENCES ledger_account (number, currency),
  CONSTRAINT one_side CHECK ((debit IS NULL) <> (credit IS NULL))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE balance (
  account DECIMAL(20,0) NOT NULL,
  day DATE NOT NULL,
  amount DECIMAL(30,8) NOT NULL,
  PRIMARY KEY (account, day),
  CONSTRAINT balance_account FOREIGN KEY (account) REFERENCES ledger_account (number)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
