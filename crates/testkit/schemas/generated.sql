-- Columns that the server computes, in keys too.
-- sent invoice: generated column
-- sent payload: generated column
-- sent person: generated column
CREATE TABLE person (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT,
  first_name VARCHAR(40) NOT NULL,
  last_name VARCHAR(40) NOT NULL,
  full_name VARCHAR(81) GENERATED ALWAYS AS (CONCAT(first_name, ' ', last_name)) VIRTUAL,
  initials CHAR(2) GENERATED ALWAYS AS (CONCAT(LEFT(first_name, 1), LEFT(last_name, 1))) STORED,
  PRIMARY KEY (id),
  KEY initials (initials)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE invoice (
  id INT UNSIGNED NOT NULL,
  person_id INT UNSIGNED NOT NULL,
  net DECIMAL(10,2) NOT NULL,
  tax_percent DECIMAL(4,2) NOT NULL DEFAULT 20,
  gross DECIMAL(12,2) GENERATED ALWAYS AS (net + net * tax_percent / 100) STORED,
  issued DATE NOT NULL,
  issued_year SMALLINT GENERATED ALWAYS AS (YEAR(issued)) VIRTUAL,
  PRIMARY KEY (id),
  KEY by_year (issued_year, person_id),
  CONSTRAINT invoice_person FOREIGN KEY (person_id) REFERENCES person (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE payload (
  id INT UNSIGNED NOT NULL,
  doc LONGTEXT NOT NULL,
  doc_hash CHAR(40) CHARACTER SET ascii GENERATED ALWAYS AS (SHA1(doc)) STORED,
  PRIMARY KEY (id),
  UNIQUE KEY doc_hash (doc_hash),
  CONSTRAINT payload_invoice FOREIGN KEY (id) REFERENCES invoice (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE plain_log (
  at DATETIME NOT NULL,
  what VARCHAR(20) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
