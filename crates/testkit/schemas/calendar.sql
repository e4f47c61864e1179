-- Times of every kind as keys of other tables.
CREATE TABLE slot (
  begins DATETIME(6) NOT NULL,
  room SMALLINT NOT NULL,
  minutes SMALLINT UNSIGNED NOT NULL DEFAULT 30,
  PRIMARY KEY (begins, room)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE booking (
  id INT NOT NULL,
  begins DATETIME(6) NOT NULL,
  room SMALLINT NOT NULL,
  who VARCHAR(40) NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT booking_slot FOREIGN KEY (begins, room) REFERENCES slot (begins, room) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE holiday (
  day DATE NOT NULL,
  year_of YEAR NOT NULL,
  name VARCHAR(40) NOT NULL,
  PRIMARY KEY (day),
  KEY year_of (year_of)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE closing (
  id INT NOT NULL,
  day DATE DEFAULT NULL,
  year_of YEAR DEFAULT NULL,
  from_time TIME(3) NOT NULL DEFAULT '00:00:00.000',
  seen TIMESTAMP(3) NULL DEFAULT NULL,
  PRIMARY KEY (id),
  CONSTRAINT closing_day FOREIGN KEY (day) REFERENCES holiday (day) ON DELETE SET NULL ON UPDATE CASCADE,
  CONSTRAINT closing_year FOREIGN KEY (year_of) REFERENCES holiday (year_of)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE reminder (
  booking_id INT NOT NULL,
  before_it TIME NOT NULL,
  sent TIMESTAMP NULL DEFAULT NULL,
  PRIMARY KEY (booking_id, before_it DESC),
  CONSTRAINT reminder_booking FOREIGN KEY (booking_id) REFERENCES booking (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
