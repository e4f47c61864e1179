-- A wiki: pages and revisions that name each other, binary titles, links without keys.
-- sent searchindex: FULLTEXT index
CREATE TABLE wiki_user (
  user_id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  user_name VARBINARY(255) NOT NULL DEFAULT '',
  user_email TINYBLOB NOT NULL,
  user_touched BINARY(14) NOT NULL DEFAULT '00000000000000',
  UNIQUE KEY user_name (user_name)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
CREATE TABLE page (
  page_id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  page_namespace INT NOT NULL,
  page_title VARBINARY(255) NOT NULL,
  page_random DOUBLE UNSIGNED NOT NULL,
  page_latest INT UNSIGNED DEFAULT NULL,
  page_len INT UNSIGNED NOT NULL,
  UNIQUE KEY name_title (page_namespace, page_title),
  KEY page_random (page_random)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
CREATE TABLE revision (
  rev_id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  rev_page INT UNSIGNED NOT NULL,
  rev_user INT UNSIGNED DEFAULT NULL,
  rev_parent INT UNSIGNED DEFAULT NULL,
  rev_comment VARBINARY(767) NOT NULL DEFAULT '',
  rev_minor TINYINT UNSIGNED NOT NULL DEFAULT 0,
  KEY page_revisions (rev_page, rev_id),
  CONSTRAINT revision_page FOREIGN KEY (rev_page) REFERENCES page (page_id) ON DELETE CASCADE,
  CONSTRAINT revision_user FOREIGN KEY (rev_user) REFERENCES wiki_user (user_id) ON DELETE SET NULL,
  CONSTRAINT revision_parent FOREIGN KEY (rev_parent) REFERENCES revision (rev_id) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=binary;
ALTER TABLE page ADD CONSTRAINT page_latest_revision FOREIGN KEY (page_latest) REFERENCES revision (rev_id) ON DELETE SET NULL;
CREATE TABLE pagelinks (
  pl_from INT UNSIGNED NOT NULL DEFAULT 0,
  pl_namespace INT NOT NULL DEFAULT 0,
  pl_title VARBINARY(255) NOT NULL DEFAULT '',
  UNIQUE KEY pl_from (pl_from, pl_namespace, pl_title),
  KEY pl_namespace (pl_namespace, pl_title, pl_from)
) ENGINE=InnoDB DEFAULT CHARSET=binary;
CREATE TABLE searchindex (
  si_page INT UNSIGNED NOT NULL,
  si_title VARCHAR(255) NOT NULL DEFAULT '',
  si_text MEDIUMTEXT NOT NULL,
  UNIQUE KEY si_page (si_page),
  FULLTEXT KEY si_title (si_title),
  FULLTEXT KEY si_text (si_text)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
