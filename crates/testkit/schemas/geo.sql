-- Places: administrative levels by code, names in languages, borders from place to place.
-- sent place: column type
CREATE TABLE country (
  iso2 CHAR(2) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  iso_numeric SMALLINT(3) UNSIGNED ZEROFILL NOT NULL,
  name VARCHAR(80) NOT NULL,
  PRIMARY KEY (iso2),
  UNIQUE KEY iso_numeric (iso_numeric)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE region (
  iso2 CHAR(2) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  code VARCHAR(6) NOT NULL,
  part_of VARCHAR(6) DEFAULT NULL,
  name VARCHAR(80) NOT NULL,
  PRIMARY KEY (iso2, code),
  CONSTRAINT region_country FOREIGN KEY (iso2) REFERENCES country (iso2) ON DELETE CASCADE,
  CONSTRAINT region_part FOREIGN KEY (iso2, part_of) REFERENCES region (iso2, code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE place (
  id INT NOT NULL,
  iso2 CHAR(2) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  code VARCHAR(6) DEFAULT NULL,
  name VARCHAR(200) NOT NULL,
  population BIGINT DEFAULT NULL,
  elevation SMALLINT DEFAULT NULL,
  at POINT DEFAULT NULL,
  PRIMARY KEY (id),
  KEY by_population (population DESC),
  CONSTRAINT place_region FOREIGN KEY (iso2, code) REFERENCES region (iso2, code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE place_name (
  place_id INT NOT NULL,
  language VARCHAR(7) CHARACTER SET ascii NOT NULL,
  name VARCHAR(200) NOT NULL,
  is_short BIT(1) NOT NULL DEFAULT b'0',
  PRIMARY KEY (place_id, language),
  KEY name (name(20)),
  CONSTRAINT name_place FOREIGN KEY (place_id) REFERENCES place (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE border (
  one CHAR(2) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  other CHAR(2) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  km DECIMAL(7,1) DEFAULT NULL,
  PRIMARY KEY (one, other),
  CONSTRAINT border_one FOREIGN KEY (one) REFERENCES country (iso2) ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT border_other FOREIGN KEY (other) REFERENCES country (iso2) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
