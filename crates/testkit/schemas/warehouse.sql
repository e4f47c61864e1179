-- A warehouse: a star of facts around dimensions, keys of few bytes.
CREATE TABLE dim_date (
  date_key INT NOT NULL,
  day DATE NOT NULL,
  week TINYINT UNSIGNED NOT NULL,
  is_holiday TINYINT(1) NOT NULL DEFAULT 0,
  PRIMARY KEY (date_key),
  UNIQUE KEY day (day)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE dim_store (
  store_key SMALLINT UNSIGNED NOT NULL,
  store_id CHAR(8) NOT NULL,
  region VARCHAR(30) NOT NULL,
  valid_from DATETIME NOT NULL,
  valid_to DATETIME DEFAULT NULL,
  PRIMARY KEY (store_key),
  UNIQUE KEY version (store_id, valid_from)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE dim_item (
  item_key MEDIUMINT UNSIGNED NOT NULL,
  gtin BIGINT UNSIGNED ZEROFILL NOT NULL,
  name VARCHAR(80) NOT NULL,
  brand VARCHAR(30) DEFAULT NULL,
  PRIMARY KEY (item_key),
  KEY gtin (gtin)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE fact_sale (
  date_key INT NOT NULL,
  store_key SMALLINT UNSIGNED NOT NULL,
  item_key MEDIUMINT UNSIGNED NOT NULL,
  receipt INT UNSIGNED NOT NULL,
  quantity DECIMAL(9,3) NOT NULL,
  amount DECIMAL(11,2) NOT NULL,
  PRIMARY KEY (date_key, store_key, receipt, item_key),
  KEY sale_store (store_key),
  KEY sale_item (item_key),
  CONSTRAINT sale_date FOREIGN KEY (date_key) REFERENCES dim_date (date_key),
  CONSTRAINT sale_store FOREIGN KEY (store_key) REFERENCES dim_store (store_key),
  CONSTRAINT sale_item FOREIGN KEY (item_key) REFERENCES dim_item (item_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE fact_stock (
  date_key INT NOT NULL,
  store_key SMALLINT UNSIGNED NOT NULL,
  item_key MEDIUMINT UNSIGNED NOT NULL,
  on_hand DECIMAL(9,3) DEFAULT NULL,
  CONSTRAINT stock_date FOREIGN KEY (date_key) REFERENCES dim_date (date_key),
  CONSTRAINT stock_store FOREIGN KEY (store_key) REFERENCES dim_store (store_key),
  CONSTRAINT stock_item FOREIGN KEY (item_key) REFERENCES dim_item (item_key)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
