-- Flights: codes as keys that are changed by cascades, legs by composite keys, seats.
CREATE TABLE airport (
  iata CHAR(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  icao CHAR(4) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  city VARCHAR(60) NOT NULL,
  utc_offset DECIMAL(4,2) NOT NULL DEFAULT 0,
  PRIMARY KEY (iata),
  UNIQUE KEY icao (icao)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_turkish_ci;
CREATE TABLE aircraft (
  registration VARCHAR(8) CHARACTER SET latin1 NOT NULL,
  type_code CHAR(4) NOT NULL,
  seats SMALLINT UNSIGNED NOT NULL,
  home CHAR(3) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  PRIMARY KEY (registration),
  CONSTRAINT aircraft_home FOREIGN KEY (home) REFERENCES airport (iata) ON UPDATE CASCADE ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE flight (
  airline CHAR(2) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  number SMALLINT UNSIGNED NOT NULL,
  day DATE NOT NULL,
  origin CHAR(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  destination CHAR(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  registration VARCHAR(8) CHARACTER SET latin1 DEFAULT NULL,
  departs TIME NOT NULL,
  PRIMARY KEY (airline, number, day),
  KEY from_to (origin, destination, day),
  CONSTRAINT flight_origin FOREIGN KEY (origin) REFERENCES airport (iata) ON UPDATE CASCADE,
  CONSTRAINT flight_destination FOREIGN KEY (destination) REFERENCES airport (iata),
  CONSTRAINT flight_aircraft FOREIGN KEY (registration) REFERENCES aircraft (registration) ON UPDATE CASCADE ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE seat (
  airline CHAR(2) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  number SMALLINT UNSIGNED NOT NULL,
  day DATE NOT NULL,
  place CHAR(3) NOT NULL,
  passenger VARCHAR(70) DEFAULT NULL,
  price DECIMAL(8,2) UNSIGNED DEFAULT NULL,
  PRIMARY KEY (airline, number, day, place),
  CONSTRAINT seat_flight FOREIGN KEY (airline, number, day) REFERENCES flight (airline, number, day) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
