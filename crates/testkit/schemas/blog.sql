-- A blog whose comments nest, with tags in both directions and a slug for each language.
CREATE TABLE lang (
  code VARCHAR(5) NOT NULL,
  PRIMARY KEY (code)
) ENGINE=InnoDB DEFAULT CHARSET=ascii;
CREATE TABLE entry (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT,
  published DATETIME DEFAULT NULL,
  sticky BIT(1) DEFAULT NULL,
  PRIMARY KEY (id),
  KEY published (published DESC)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE entry_text (
  entry_id INT UNSIGNED NOT NULL,
  lang VARCHAR(5) CHARACTER SET ascii NOT NULL,
  slug VARCHAR(100) NOT NULL,
  title VARCHAR(200) NOT NULL,
  body MEDIUMTEXT,
  PRIMARY KEY (entry_id, lang),
  UNIQUE KEY slug (lang, slug),
  CONSTRAINT text_entry FOREIGN KEY (entry_id) REFERENCES entry (id) ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT text_lang FOREIGN KEY (lang) REFERENCES lang (code) ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_polish_ci;
CREATE TABLE comment (
  entry_id INT UNSIGNED NOT NULL,
  number INT UNSIGNED NOT NULL,
  above INT UNSIGNED DEFAULT NULL,
  name VARCHAR(50) DEFAULT NULL,
  text TEXT NOT NULL,
  PRIMARY KEY (entry_id, number),
  CONSTRAINT comment_entry FOREIGN KEY (entry_id) REFERENCES entry (id) ON DELETE CASCADE,
  CONSTRAINT comment_above FOREIGN KEY (entry_id, above) REFERENCES comment (entry_id, number) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE tag (
  tag VARCHAR(40) NOT NULL,
  synonym VARCHAR(40) DEFAULT NULL,
  PRIMARY KEY (tag),
  CONSTRAINT tag_synonym FOREIGN KEY (synonym) REFERENCES tag (tag) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE entry_tag (
  entry_id INT UNSIGNED NOT NULL,
  tag VARCHAR(40) NOT NULL,
  PRIMARY KEY (tag, entry_id),
  CONSTRAINT et_entry FOREIGN KEY (entry_id) REFERENCES entry (id) ON DELETE CASCADE,
  CONSTRAINT et_tag FOREIGN KEY (tag) REFERENCES tag (tag) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
