CREATE TABLE customers (id INT PRIMARY KEY, email VARCHAR(60) NOT NULL UNIQUE);
CREATE TABLE orders (id INT PRIMARY KEY, customer_id INT NOT NULL, total DECIMAL(8,2) NOT NULL,
  FOREIGN KEY (customer_id) REFERENCES customers (id));
