-- A CRM: identifiers as text, soft deletes, notes about anything.
CREATE TABLE account (
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL,
  name VARCHAR(150) DEFAULT NULL,
  parent_id CHAR(36) CHARACTER SET ascii COLLATE ascii_general_ci DEFAULT NULL,
  revenue DOUBLE DEFAULT NULL,
  employees VARCHAR(10) DEFAULT NULL,
  deleted TINYINT(1) DEFAULT 0,
  date_entered DATETIME DEFAULT NULL,
  PRIMARY KEY (id),
  KEY live (deleted, name, id),
  CONSTRAINT account_member_of FOREIGN KEY (parent_id) REFERENCES account (id) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE contact (
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL,
  account_id CHAR(36) CHARACTER SET ascii COLLATE ascii_general_ci DEFAULT NULL,
  reports_to CHAR(36) CHARACTER SET ascii COLLATE ascii_general_ci DEFAULT NULL,
  salutation VARCHAR(20) DEFAULT NULL,
  last_name VARCHAR(100) NOT NULL,
  first_name VARCHAR(100) DEFAULT NULL,
  birthdate DATE DEFAULT NULL,
  do_not_call TINYINT(1) DEFAULT 0,
  description TEXT DEFAULT NULL,
  PRIMARY KEY (id),
  KEY last_first (last_name(30), first_name(30)),
  CONSTRAINT contact_account FOREIGN KEY (account_id) REFERENCES account (id) ON DELETE SET NULL ON UPDATE CASCADE,
  CONSTRAINT contact_boss FOREIGN KEY (reports_to) REFERENCES contact (id) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE opportunity (
  id CHAR(36) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL,
  account_id CHAR(36) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL,
  stage VARCHAR(40) NOT NULL DEFAULT 'Prospecting',
  amount DECIMAL(26,6) DEFAULT NULL,
  probability DOUBLE DEFAULT NULL,
  closes DATE DEFAULT NULL,
  PRIMARY KEY (id),
  KEY stage (stage, closes DESC),
  CONSTRAINT opportunity_account FOREIGN KEY (account_id) REFERENCES account (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE opportunity_contact (
  opportunity_id CHAR(36) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL,
  contact_id CHAR(36) CHARACTER SET ascii COLLATE ascii_general_ci NOT NULL,
  role VARCHAR(50) DEFAULT NULL,
  PRIMARY KEY (opportunity_id, contact_id),
  CONSTRAINT oc_opportunity FOREIGN KEY (opportunity_id) REFERENCES opportunity (id) ON DELETE CASCADE,
  CONSTRAINT oc_contact FOREIGN KEY (contact_id) REFERENCES contact (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE note (
  number BIGINT NOT NULL AUTO_INCREMENT,
  about_type VARCHAR(30) NOT NULL,
  about_id CHAR(36) CHARACTER SET ascii NOT NULL,
  written TIMESTAMP(3) NULL DEFAULT NULL,
  body LONGTEXT,
  PRIMARY KEY (number),
  KEY about (about_type, about_id)
) ENGINE=InnoDB AUTO_INCREMENT=77 DEFAULT CHARSET=utf8mb4;
