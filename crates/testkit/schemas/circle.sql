-- Stores need a manager, managers a store: no order of tables has the rows of one before the other's.
-- unchecked
CREATE TABLE store (
  store_id SMALLINT UNSIGNED NOT NULL,
  manager_id SMALLINT UNSIGNED NOT NULL,
  city VARCHAR(50) NOT NULL,
  PRIMARY KEY (store_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE employee (
  employee_id SMALLINT UNSIGNED NOT NULL,
  store_id SMALLINT UNSIGNED NOT NULL,
  name VARCHAR(50) NOT NULL,
  PRIMARY KEY (employee_id),
  CONSTRAINT employee_store FOREIGN KEY (store_id) REFERENCES store (store_id) ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
ALTER TABLE store ADD CONSTRAINT store_manager FOREIGN KEY (manager_id) REFERENCES employee (employee_id) ON UPDATE CASCADE;
CREATE TABLE shift (
  employee_id SMALLINT UNSIGNED NOT NULL,
  begins DATETIME NOT NULL,
  ends DATETIME DEFAULT NULL,
  PRIMARY KEY (employee_id, begins),
  CONSTRAINT shift_employee FOREIGN KEY (employee_id) REFERENCES employee (employee_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE till (
  store_id SMALLINT UNSIGNED NOT NULL,
  number TINYINT NOT NULL,
  amount DECIMAL(9,2) NOT NULL DEFAULT 0,
  PRIMARY KEY (store_id, number),
  CONSTRAINT till_store FOREIGN KEY (store_id) REFERENCES store (store_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
