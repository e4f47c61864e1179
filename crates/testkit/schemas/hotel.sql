-- A hotel: rooms by floor and number, bookings, guests, invoices of either.
CREATE TABLE room_type (
  code CHAR(2) NOT NULL,
  beds TINYINT UNSIGNED NOT NULL,
  price DECIMAL(7,2) NOT NULL,
  PRIMARY KEY (code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE room (
  floor TINYINT NOT NULL,
  number SMALLINT NOT NULL,
  code CHAR(2) NOT NULL,
  door_to_floor TINYINT DEFAULT NULL,
  door_to_number SMALLINT DEFAULT NULL,
  PRIMARY KEY (floor, number),
  CONSTRAINT room_code FOREIGN KEY (code) REFERENCES room_type (code) ON UPDATE CASCADE,
  CONSTRAINT room_door FOREIGN KEY (door_to_floor, door_to_number) REFERENCES room (floor, number) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE guest (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT,
  name VARCHAR(80) NOT NULL,
  passport VARCHAR(20) DEFAULT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY passport (passport)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE reservation (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT,
  guest_id INT UNSIGNED NOT NULL,
  floor TINYINT DEFAULT NULL,
  number SMALLINT DEFAULT NULL,
  arrival DATE NOT NULL,
  nights TINYINT UNSIGNED NOT NULL DEFAULT 1,
  wishes TINYTEXT,
  PRIMARY KEY (id),
  KEY arrivals (arrival DESC, nights),
  CONSTRAINT reservation_guest FOREIGN KEY (guest_id) REFERENCES guest (id),
  CONSTRAINT reservation_room FOREIGN KEY (floor, number) REFERENCES room (floor, number) ON UPDATE CASCADE ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE bill (
  reservation_id INT UNSIGNED NOT NULL,
  paid_by INT UNSIGNED DEFAULT NULL,
  amount DECIMAL(9,2) NOT NULL,
  PRIMARY KEY (reservation_id),
  CONSTRAINT bill_reservation FOREIGN KEY (reservation_id) REFERENCES reservation (id) ON DELETE CASCADE,
  CONSTRAINT bill_guest FOREIGN KEY (paid_by) REFERENCES guest (id) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
