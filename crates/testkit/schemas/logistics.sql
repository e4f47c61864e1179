-- Freight: parties in roles, legs of a route, containers in containers.
CREATE TABLE party (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT,
  eori VARCHAR(17) CHARACTER SET ascii DEFAULT NULL,
  name VARCHAR(100) NOT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY eori (eori)
) ENGINE=InnoDB AUTO_INCREMENT=4294967000 DEFAULT CHARSET=utf8mb4;
CREATE TABLE shipment (
  number CHAR(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  shipper INT UNSIGNED NOT NULL,
  consignee INT UNSIGNED NOT NULL,
  notify INT UNSIGNED DEFAULT NULL,
  weight DECIMAL(12,3) UNSIGNED DEFAULT NULL,
  incoterm ENUM('EXW','FCA','DAP','DDP') DEFAULT NULL,
  PRIMARY KEY (number),
  CONSTRAINT shipment_shipper FOREIGN KEY (shipper) REFERENCES party (id),
  CONSTRAINT shipment_consignee FOREIGN KEY (consignee) REFERENCES party (id),
  CONSTRAINT shipment_notify FOREIGN KEY (notify) REFERENCES party (id) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE leg (
  number CHAR(12) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  leg_no TINYINT UNSIGNED NOT NULL,
  mode ENUM('road','rail','sea','air') NOT NULL,
  departs DATETIME DEFAULT NULL,
  arrives DATETIME DEFAULT NULL,
  PRIMARY KEY (number, leg_no),
  CONSTRAINT leg_shipment FOREIGN KEY (number) REFERENCES shipment (number) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE container (
  id INT UNSIGNED NOT NULL,
  within INT UNSIGNED DEFAULT NULL,
  number CHAR(12) CHARACTER SET ascii COLLATE ascii_bin DEFAULT NULL,
  leg_no TINYINT UNSIGNED DEFAULT NULL,
  contents VARCHAR(200) DEFAULT NULL,
  PRIMARY KEY (id),
  CONSTRAINT container_within FOREIGN KEY (within) REFERENCES container (id) ON DELETE CASCADE,
  CONSTRAINT container_leg FOREIGN KEY (number, leg_no) REFERENCES leg (number, leg_no) ON DELETE SET NULL ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE scan (
  container_id INT UNSIGNED NOT NULL,
  at DATETIME(2) NOT NULL,
  place VARCHAR(30) DEFAULT NULL,
  KEY container_id (container_id),
  CONSTRAINT scan_container FOREIGN KEY (container_id) REFERENCES container (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
