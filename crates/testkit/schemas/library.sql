-- A library: works, editions, copies, loans; titles in many writings.
CREATE TABLE author (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  name VARCHAR(100) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_nopad_ci NOT NULL,
  born SMALLINT DEFAULT NULL,
  died SMALLINT DEFAULT NULL,
  KEY name (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE work (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  title VARCHAR(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL,
  language CHAR(3) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT 'und',
  translation_of INT DEFAULT NULL,
  KEY title (title(100)),
  CONSTRAINT work_original FOREIGN KEY (translation_of) REFERENCES work (id) ON DELETE RESTRICT
) ENGINE=InnoDB AUTO_INCREMENT=12 DEFAULT CHARSET=utf8mb4;
CREATE TABLE written_by (
  work_id INT NOT NULL,
  author_id INT NOT NULL,
  place TINYINT UNSIGNED NOT NULL DEFAULT 1,
  PRIMARY KEY (work_id, author_id),
  UNIQUE KEY place (work_id, place),
  KEY author_id (author_id),
  CONSTRAINT wb_work FOREIGN KEY (work_id) REFERENCES work (id) ON DELETE CASCADE,
  CONSTRAINT wb_author FOREIGN KEY (author_id) REFERENCES author (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE edition (
  isbn CHAR(13) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  work_id INT NOT NULL,
  year YEAR DEFAULT NULL,
  pages SMALLINT UNSIGNED DEFAULT NULL,
  CONSTRAINT edition_work FOREIGN KEY (work_id) REFERENCES work (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE copy (
  isbn CHAR(13) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  copy_no SMALLINT NOT NULL,
  shelf VARCHAR(12) DEFAULT NULL,
  PRIMARY KEY (isbn, copy_no),
  UNIQUE KEY shelf (shelf),
  CONSTRAINT copy_edition FOREIGN KEY (isbn) REFERENCES edition (isbn) ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE loan (
  isbn CHAR(13) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  copy_no SMALLINT NOT NULL,
  taken DATE NOT NULL,
  reader VARCHAR(50) NOT NULL,
  back DATE DEFAULT NULL,
  PRIMARY KEY (isbn, copy_no, taken),
  KEY late (back, taken),
  CONSTRAINT loan_copy FOREIGN KEY (isbn, copy_no) REFERENCES copy (isbn, copy_no) ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=latin2;
