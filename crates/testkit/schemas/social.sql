-- A social network: everything refers to people, most of it twice.
CREATE TABLE person (
  id BIGINT UNSIGNED NOT NULL,
  handle VARCHAR(30) CHARACTER SET ascii NOT NULL,
  display VARCHAR(60) NOT NULL,
  bio TEXT,
  private TINYINT(1) NOT NULL DEFAULT 0,
  PRIMARY KEY (id),
  UNIQUE KEY handle (handle)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE follows (
  who BIGINT UNSIGNED NOT NULL,
  whom BIGINT UNSIGNED NOT NULL,
  since TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
  PRIMARY KEY (who, whom),
  KEY whom (whom, who),
  CONSTRAINT follows_who FOREIGN KEY (who) REFERENCES person (id) ON DELETE CASCADE,
  CONSTRAINT follows_whom FOREIGN KEY (whom) REFERENCES person (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE status (
  id BIGINT UNSIGNED NOT NULL,
  author BIGINT UNSIGNED NOT NULL,
  reply_to BIGINT UNSIGNED DEFAULT NULL,
  quotes BIGINT UNSIGNED DEFAULT NULL,
  text VARCHAR(500) NOT NULL,
  visibility ENUM('public','followers','direct') NOT NULL DEFAULT 'public',
  PRIMARY KEY (id),
  KEY timeline (author, id DESC),
  CONSTRAINT status_author FOREIGN KEY (author) REFERENCES person (id) ON DELETE CASCADE,
  CONSTRAINT status_reply FOREIGN KEY (reply_to) REFERENCES status (id) ON DELETE SET NULL,
  CONSTRAINT status_quotes FOREIGN KEY (quotes) REFERENCES status (id) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
CREATE TABLE favourite (
  status_id BIGINT UNSIGNED NOT NULL,
  person_id BIGINT UNSIGNED NOT NULL,
  PRIMARY KEY (status_id, person_id),
  CONSTRAINT favourite_status FOREIGN KEY (status_id) REFERENCES status (id) ON DELETE CASCADE,
  CONSTRAINT favourite_person FOREIGN KEY (person_id) REFERENCES person (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE direct_message (
  sender BIGINT UNSIGNED NOT NULL,
  receiver BIGINT UNSIGNED NOT NULL,
  sent DATETIME(6) NOT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (sender, receiver, sent),
  CONSTRAINT dm_sender FOREIGN KEY (sender) REFERENCES person (id),
  CONSTRAINT dm_receiver FOREIGN KEY (receiver) REFERENCES person (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
