-- Tickets: queues, states, articles, links from ticket to ticket.
CREATE TABLE valid (
  id SMALLINT NOT NULL AUTO_INCREMENT,
  name VARCHAR(200) NOT NULL,
  PRIMARY KEY (id),
  UNIQUE INDEX valid_name (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3;
CREATE TABLE users (
  id INTEGER NOT NULL AUTO_INCREMENT,
  login VARCHAR(190) NOT NULL,
  valid_id SMALLINT NOT NULL,
  create_by INTEGER NOT NULL,
  PRIMARY KEY (id),
  UNIQUE INDEX users_login (login),
  CONSTRAINT FK_users_valid_id_id FOREIGN KEY (valid_id) REFERENCES valid (id),
  CONSTRAINT FK_users_create_by_id FOREIGN KEY (create_by) REFERENCES users (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3;
CREATE TABLE queue (
  id INTEGER NOT NULL AUTO_INCREMENT,
  name VARCHAR(190) NOT NULL,
  unlock_timeout INTEGER NULL,
  valid_id SMALLINT NOT NULL,
  create_by INTEGER NOT NULL,
  change_by INTEGER NOT NULL,
  PRIMARY KEY (id),
  UNIQUE INDEX queue_name (name),
  CONSTRAINT FK_queue_valid FOREIGN KEY (valid_id) REFERENCES valid (id),
  CONSTRAINT FK_queue_create_by_id FOREIGN KEY (create_by) REFERENCES users (id),
  CONSTRAINT FK_queue_change_by_id FOREIGN KEY (change_by) REFERENCES users (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3;
CREATE TABLE ticket (
  id BIGINT NOT NULL AUTO_INCREMENT,
  tn VARCHAR(50) NOT NULL,
  title VARCHAR(255) NULL,
  queue_id INTEGER NOT NULL,
  user_id INTEGER NOT NULL,
  responsible_user_id INTEGER NULL,
  merged_into BIGINT NULL,
  until_time INTEGER NOT NULL DEFAULT 0,
  create_time DATETIME NOT NULL,
  PRIMARY KEY (id),
  UNIQUE INDEX ticket_tn (tn),
  INDEX ticket_title (title),
  INDEX ticket_create_time (create_time DESC, until_time),
  CONSTRAINT FK_ticket_queue FOREIGN KEY (queue_id) REFERENCES queue (id),
  CONSTRAINT FK_ticket_user FOREIGN KEY (user_id) REFERENCES users (id),
  CONSTRAINT FK_ticket_responsible FOREIGN KEY (responsible_user_id) REFERENCES users (id),
  CONSTRAINT FK_ticket_merged FOREIGN KEY (merged_into) REFERENCES ticket (id)
) ENGINE=InnoDB AUTO_INCREMENT=201 DEFAULT CHARSET=utf8mb3;
CREATE TABLE article (
  id BIGINT NOT NULL AUTO_INCREMENT,
  ticket_id BIGINT NOT NULL,
  is_visible TINYINT NOT NULL DEFAULT 0,
  a_from MEDIUMTEXT NULL,
  a_message_id_md5 VARCHAR(32) NULL,
  a_body MEDIUMTEXT NOT NULL,
  PRIMARY KEY (id),
  INDEX article_message_id_md5 (a_message_id_md5),
  INDEX article_from (a_from(60)),
  CONSTRAINT FK_article_ticket_id_id FOREIGN KEY (ticket_id) REFERENCES ticket (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3;
CREATE TABLE ticket_watcher (
  ticket_id BIGINT NOT NULL,
  user_id INTEGER NOT NULL,
  create_time DATETIME NOT NULL,
  INDEX ticket_watcher_ticket_id (ticket_id),
  CONSTRAINT FK_watcher_ticket FOREIGN KEY (ticket_id) REFERENCES ticket (id) ON DELETE CASCADE,
  CONSTRAINT FK_watcher_user FOREIGN KEY (user_id) REFERENCES users (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb3;
