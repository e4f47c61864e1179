-- What is done by triggers: values put right, sums kept, in an order, by several definers.
-- each
-- sent stock_item: trigger
-- sent stock_move: trigger
CREATE TABLE stock_item (
  id INT NOT NULL,
  name VARCHAR(40) NOT NULL,
  name_lower VARCHAR(40) DEFAULT NULL,
  amount INT NOT NULL DEFAULT 0,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE stock_move (
  item_id INT NOT NULL,
  line INT NOT NULL,
  delta INT NOT NULL,
  moved DATETIME DEFAULT NULL,
  PRIMARY KEY (item_id, line),
  CONSTRAINT move_item FOREIGN KEY (item_id) REFERENCES stock_item (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE plain_shelf (
  id INT NOT NULL,
  item_id INT DEFAULT NULL,
  PRIMARY KEY (id),
  CONSTRAINT shelf_item FOREIGN KEY (item_id) REFERENCES stock_item (id) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
DELIMITER //
CREATE TRIGGER lower_name BEFORE INSERT ON stock_item FOR EACH ROW
BEGIN
  SET NEW.name_lower = LOWER(NEW.name);
END//
CREATE TRIGGER never_below BEFORE INSERT ON stock_item FOR EACH ROW FOLLOWS lower_name
  SET NEW.amount = GREATEST(NEW.amount, 0)//
CREATE TRIGGER dated BEFORE INSERT ON stock_move FOR EACH ROW
  SET NEW.moved = COALESCE(NEW.moved, '2020-01-01 00:00:00')//
CREATE TRIGGER kept BEFORE UPDATE ON stock_move FOR EACH ROW
  SET NEW.moved = OLD.moved//
DELIMITER ;
