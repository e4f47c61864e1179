-- An online shop: categories in a tree, variants, orders that keep their lines.
CREATE TABLE category (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT,
  parent_id INT UNSIGNED DEFAULT NULL,
  name VARCHAR(120) NOT NULL,
  position SMALLINT NOT NULL DEFAULT 0,
  PRIMARY KEY (id),
  UNIQUE KEY name_in_parent (parent_id, name),
  CONSTRAINT category_parent FOREIGN KEY (parent_id) REFERENCES category (id) ON DELETE CASCADE ON UPDATE NO ACTION
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci COMMENT='a tree';
CREATE TABLE product (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT,
  sku VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  category_id INT UNSIGNED DEFAULT NULL,
  title VARCHAR(200) NOT NULL,
  body MEDIUMTEXT,
  price DECIMAL(10,2) NOT NULL,
  tax_class ENUM('none','reduced','full') NOT NULL DEFAULT 'full',
  flags SET('new','sale','hidden') NOT NULL DEFAULT '',
  created_at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (id),
  UNIQUE KEY sku (sku),
  KEY title (title(40)),
  CONSTRAINT product_category FOREIGN KEY (category_id) REFERENCES category (id) ON DELETE SET NULL
) ENGINE=InnoDB AUTO_INCREMENT=1000 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE variant (
  product_id INT UNSIGNED NOT NULL,
  size VARCHAR(8) NOT NULL,
  color VARCHAR(16) NOT NULL,
  stock INT NOT NULL DEFAULT 0 COMMENT 'may be below zero: sold before it came',
  PRIMARY KEY (product_id, size, color),
  CONSTRAINT variant_product FOREIGN KEY (product_id) REFERENCES product (id) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE customer (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  email VARCHAR(190) NOT NULL,
  phone VARCHAR(30) DEFAULT NULL,
  newsletter BIT(1) NOT NULL DEFAULT b'0',
  PRIMARY KEY (id),
  UNIQUE KEY email (email),
  UNIQUE KEY phone (phone)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;
CREATE TABLE orders (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  customer_id BIGINT UNSIGNED NOT NULL,
  placed DATETIME(3) NOT NULL,
  state ENUM('open','paid','sent','back') NOT NULL DEFAULT 'open',
  total DECIMAL(12,2) NOT NULL,
  PRIMARY KEY (id),
  KEY by_customer (customer_id, placed),
  CONSTRAINT orders_customer FOREIGN KEY (customer_id) REFERENCES customer (id)
) ENGINE=InnoDB AUTO_INCREMENT=500001 DEFAULT CHARSET=utf8mb4;
CREATE TABLE order_line (
  order_id BIGINT UNSIGNED NOT NULL,
  line SMALLINT UNSIGNED NOT NULL,
  product_id INT UNSIGNED NOT NULL,
  size VARCHAR(8) NOT NULL,
  color VARCHAR(16) NOT NULL,
  quantity SMALLINT UNSIGNED NOT NULL,
  price DECIMAL(10,2) NOT NULL,
  PRIMARY KEY (order_id, line),
  KEY of_variant (product_id, size, color),
  CONSTRAINT order_line_ibfk_1 FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE,
  CONSTRAINT order_line_ibfk_2 FOREIGN KEY (product_id, size, color) REFERENCES variant (product_id, size, color)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE VIEW open_orders AS SELECT o.id, c.email, o.total FROM orders o JOIN customer c ON c.id = o.customer_id WHERE o.state = 'open';
