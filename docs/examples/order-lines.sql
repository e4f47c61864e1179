CREATE TABLE store.buyers (id INT AUTO_INCREMENT PRIMARY KEY, email VARCHAR(60) NOT NULL UNIQUE);
CREATE TABLE store.purchases (id INT AUTO_INCREMENT PRIMARY KEY, no VARCHAR(10) NOT NULL UNIQUE, buyer_id INT NOT NULL,
  FOREIGN KEY (buyer_id) REFERENCES buyers (id));
CREATE TABLE store.purchase_lines (purchase_id INT NOT NULL, line INT NOT NULL, product VARCHAR(40) NOT NULL, quantity INT NOT NULL,
  PRIMARY KEY (purchase_id, line), FOREIGN KEY (purchase_id) REFERENCES purchases (id));
