-- Numbers from sequences, columns that SELECT * leaves out, defaults that are expressions.
CREATE SEQUENCE ticket_no START WITH 100 INCREMENT BY 1 CACHE 20 ENGINE=InnoDB;
CREATE TABLE event (
  id BIGINT NOT NULL DEFAULT NEXTVAL(ticket_no),
  name VARCHAR(60) NOT NULL,
  secret VARCHAR(20) INVISIBLE DEFAULT 'none',
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE visitor (
  id INT NOT NULL,
  event_id BIGINT NOT NULL,
  code VARCHAR(20) NOT NULL DEFAULT 'x',
  came DATETIME DEFAULT NULL,
  tracked TINYINT(1) INVISIBLE NOT NULL DEFAULT 1,
  PRIMARY KEY (id),
  CONSTRAINT visitor_event FOREIGN KEY (event_id) REFERENCES event (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE badge (
  visitor_id INT NOT NULL,
  printed INT NOT NULL DEFAULT (1 + 1),
  label VARCHAR(30) NOT NULL DEFAULT (CONCAT('badge', ' ', 1)),
  UNIQUE KEY visitor_id (visitor_id),
  CONSTRAINT badge_visitor FOREIGN KEY (visitor_id) REFERENCES visitor (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
