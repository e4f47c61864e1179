-- Foreign keys: forward, circular, to itself, with every action, to a key that is not the primary one.
SET NAMES utf8mb4, foreign_key_checks = 0;
CREATE TABLE a_child (id INT NOT NULL PRIMARY KEY, z INT, CONSTRAINT to_z FOREIGN KEY (z) REFERENCES z_parent (id) ON DELETE CASCADE);
CREATE TABLE z_parent (id INT NOT NULL PRIMARY KEY, a INT, code CHAR(3) CHARACTER SET latin1, UNIQUE KEY (code),
  CONSTRAINT to_a FOREIGN KEY (a) REFERENCES a_child (id) ON DELETE SET NULL ON UPDATE CASCADE);
CREATE TABLE tree (id INT NOT NULL PRIMARY KEY, parent INT, name VARCHAR(30), UNIQUE KEY (name),
  FOREIGN KEY (parent) REFERENCES tree (id) ON DELETE RESTRICT);
CREATE TABLE by_code (n INT NOT NULL PRIMARY KEY, code CHAR(3) CHARACTER SET latin1,
  CONSTRAINT `by ``code``` FOREIGN KEY (code) REFERENCES z_parent (code) ON UPDATE NO ACTION);
CREATE TABLE pair (x INT NOT NULL, y INT NOT NULL, z INT, PRIMARY KEY (x, y), KEY (z));
CREATE TABLE pair_child (id INT NOT NULL PRIMARY KEY, x INT, y INT, KEY xy (x, y),
  FOREIGN KEY (x, y) REFERENCES pair (x, y), FOREIGN KEY (id) REFERENCES tree (id));
INSERT INTO z_parent SELECT seq, seq, LPAD(HEX(seq), 3, '0') FROM seq_1_to_400;
INSERT INTO a_child SELECT seq, 401 - seq FROM seq_1_to_400;
INSERT INTO tree VALUES (7, 9, 'child before its parent'), (9, NULL, 'root'), (1, 7, 'leaf');
INSERT INTO by_code SELECT seq, LPAD(HEX(seq), 3, '0') FROM seq_1_to_40;
INSERT INTO pair SELECT seq, seq + 1, seq FROM seq_1_to_10;
INSERT INTO pair_child VALUES (7, 1, 2), (1, 2, 3), (9, NULL, NULL);
-- A row without its parent, as dumps with checks off bring it back.
INSERT INTO pair_child VALUES (1000, 77, 78);
