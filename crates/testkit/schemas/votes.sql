-- Elections: districts within districts, lists, candidates, ballots that nobody can name.
CREATE TABLE district (
  code DECIMAL(6,0) NOT NULL,
  above DECIMAL(6,0) NOT NULL,
  name VARCHAR(60) NOT NULL,
  PRIMARY KEY (code),
  CONSTRAINT district_above FOREIGN KEY (above) REFERENCES district (code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_czech_ci;
CREATE TABLE ballot_list (
  district DECIMAL(6,0) NOT NULL,
  place TINYINT UNSIGNED NOT NULL,
  name VARCHAR(60) NOT NULL,
  PRIMARY KEY (district, place),
  UNIQUE KEY name (district, name),
  CONSTRAINT list_district FOREIGN KEY (district) REFERENCES district (code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_czech_ci;
CREATE TABLE candidate (
  district DECIMAL(6,0) NOT NULL,
  place TINYINT UNSIGNED NOT NULL,
  position SMALLINT UNSIGNED NOT NULL,
  name VARCHAR(80) NOT NULL,
  PRIMARY KEY (district, place, position),
  CONSTRAINT candidate_list FOREIGN KEY (district, place) REFERENCES ballot_list (district, place) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_czech_ci;
CREATE TABLE ballot (
  district DECIMAL(6,0) NOT NULL,
  place TINYINT UNSIGNED DEFAULT NULL,
  position SMALLINT UNSIGNED DEFAULT NULL,
  CONSTRAINT ballot_district FOREIGN KEY (district) REFERENCES district (code),
  CONSTRAINT ballot_list_of FOREIGN KEY (district, place) REFERENCES ballot_list (district, place),
  CONSTRAINT ballot_candidate FOREIGN KEY (district, place, position) REFERENCES candidate (district, place, position)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
