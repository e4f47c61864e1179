CREATE TABLE customers (id INT AUTO_INCREMENT PRIMARY KEY, email VARCHAR(60) NOT NULL UNIQUE, name VARCHAR(40) NOT NULL);
CREATE TABLE visits (customer_id INT NOT NULL, day DATE NOT NULL, PRIMARY KEY (customer_id, day),
  FOREIGN KEY (customer_id) REFERENCES customers (id));
INSERT INTO customers VALUES (1, 'ann@example.org', 'Ann'), (7, 'bob@example.org', 'Bob');
INSERT INTO visits VALUES (1, '2026-10-31');
