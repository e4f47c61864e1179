-- JSON of every kind: its own column, converted to another character set, checked by hand.
-- sent small_json: CHECK constraint
CREATE TABLE document (
  id INT NOT NULL PRIMARY KEY,
  body JSON NOT NULL,
  meta JSON DEFAULT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE document_version (
  document_id INT NOT NULL,
  version INT NOT NULL,
  body LONGTEXT NOT NULL CHECK (json_valid(body)),
  PRIMARY KEY (document_id, version),
  CONSTRAINT version_document FOREIGN KEY (document_id) REFERENCES document (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE converted (
  id INT NOT NULL PRIMARY KEY,
  body JSON NOT NULL,
  note VARCHAR(40) DEFAULT NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
ALTER TABLE converted CONVERT TO CHARACTER SET utf8mb3 COLLATE utf8mb3_general_ci;
CREATE TABLE small_json (
  id INT NOT NULL PRIMARY KEY,
  body TEXT CHARACTER SET latin1 DEFAULT NULL CHECK (json_valid(body)),
  CONSTRAINT small_document FOREIGN KEY (id) REFERENCES document (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
