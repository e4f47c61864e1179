-- Records: artists, releases, tracks, credits; a table of many references to one.
CREATE TABLE artist (
  id INT NOT NULL,
  gid CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  name VARCHAR(150) NOT NULL,
  sort_name VARCHAR(150) NOT NULL,
  begin_year SMALLINT DEFAULT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY artist_gid (gid),
  KEY sort_name (sort_name(50))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
CREATE TABLE release_group (
  id INT NOT NULL,
  artist INT NOT NULL,
  name VARCHAR(200) NOT NULL,
  kind SMALLINT DEFAULT NULL,
  PRIMARY KEY (id),
  CONSTRAINT group_artist FOREIGN KEY (artist) REFERENCES artist (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
CREATE TABLE `release` (
  id INT NOT NULL,
  release_group INT NOT NULL,
  barcode VARCHAR(20) DEFAULT NULL,
  released DATE DEFAULT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY barcode (barcode),
  CONSTRAINT release_group_of FOREIGN KEY (release_group) REFERENCES release_group (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE track (
  `release` INT NOT NULL,
  disc TINYINT NOT NULL DEFAULT 1,
  position SMALLINT NOT NULL,
  name VARCHAR(200) NOT NULL,
  length_ms INT DEFAULT NULL,
  PRIMARY KEY (`release`, disc, position),
  CONSTRAINT track_release FOREIGN KEY (`release`) REFERENCES `release` (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
CREATE TABLE credit (
  id INT NOT NULL,
  composer INT DEFAULT NULL,
  lyricist INT DEFAULT NULL,
  arranger INT DEFAULT NULL,
  conductor INT DEFAULT NULL,
  performer INT NOT NULL,
  engineer INT DEFAULT NULL,
  producer INT DEFAULT NULL,
  PRIMARY KEY (id),
  CONSTRAINT credit_1 FOREIGN KEY (composer) REFERENCES artist (id),
  CONSTRAINT credit_2 FOREIGN KEY (lyricist) REFERENCES artist (id) ON DELETE SET NULL,
  CONSTRAINT credit_3 FOREIGN KEY (arranger) REFERENCES artist (id) ON DELETE SET NULL,
  CONSTRAINT credit_4 FOREIGN KEY (conductor) REFERENCES artist (id) ON DELETE SET NULL,
  CONSTRAINT credit_5 FOREIGN KEY (performer) REFERENCES artist (id) ON DELETE CASCADE,
  CONSTRAINT credit_6 FOREIGN KEY (engineer) REFERENCES artist (id) ON DELETE SET NULL,
  CONSTRAINT credit_7 FOREIGN KEY (producer) REFERENCES artist (id) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
