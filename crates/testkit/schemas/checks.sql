-- Rules on values: of a column, of a row, of text.
-- sent plan: CHECK constraint
-- sent subscription: CHECK constraint
CREATE TABLE plan (
  code VARCHAR(12) NOT NULL CHECK (code <> ''),
  monthly DECIMAL(7,2) NOT NULL CHECK (monthly > -100000),
  PRIMARY KEY (code)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE subscription (
  id INT NOT NULL AUTO_INCREMENT,
  plan_code VARCHAR(12) NOT NULL,
  state VARCHAR(10) NOT NULL DEFAULT 'trial',
  starts DATE NOT NULL,
  ends DATE DEFAULT NULL,
  PRIMARY KEY (id),
  KEY plan_code (plan_code),
  CONSTRAINT subscription_plan FOREIGN KEY (plan_code) REFERENCES plan (code) ON UPDATE CASCADE,
  CONSTRAINT known_state CHECK (state IN ('trial', 'active', 'over')),
  CONSTRAINT in_order CHECK (ends IS NULL OR ends > starts)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE usage_row (
  subscription_id INT NOT NULL,
  metric VARCHAR(20) NOT NULL,
  used BIGINT NOT NULL,
  extra LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL CHECK (json_valid(extra)),
  PRIMARY KEY (subscription_id, metric),
  CONSTRAINT usage_subscription FOREIGN KEY (subscription_id) REFERENCES subscription (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
