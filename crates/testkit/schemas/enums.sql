-- ENUM, SET and BIT as keys that others refer to.
CREATE TABLE weekday (
  d ENUM('mon','tue','wed','thu','fri','sat','sun') NOT NULL,
  work BIT(1) NOT NULL DEFAULT b'1',
  PRIMARY KEY (d)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE permission (
  p SET('read','write','own','share') NOT NULL,
  label VARCHAR(40) NOT NULL,
  PRIMARY KEY (p)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE mask (
  bits BIT(20) NOT NULL,
  PRIMARY KEY (bits)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE policy (
  id INT NOT NULL AUTO_INCREMENT,
  d ENUM('mon','tue','wed','thu','fri','sat','sun') DEFAULT NULL,
  p SET('read','write','own','share') DEFAULT NULL,
  bits BIT(20) DEFAULT NULL,
  PRIMARY KEY (id),
  CONSTRAINT policy_day FOREIGN KEY (d) REFERENCES weekday (d),
  CONSTRAINT policy_permission FOREIGN KEY (p) REFERENCES permission (p) ON DELETE SET NULL,
  CONSTRAINT policy_mask FOREIGN KEY (bits) REFERENCES mask (bits) ON DELETE CASCADE
) ENGINE=InnoDB AUTO_INCREMENT=10 DEFAULT CHARSET=utf8mb4;
