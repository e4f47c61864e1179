-- A dump as people write them: whatever is not plain rows has to have its meaning.
SET NAMES utf8mb4;
SET @start = 100, @word = 'it''s';
CREATE TABLE plain (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20), n INT NOT NULL DEFAULT 7, at DATE);
INSERT INTO plain VALUES (1, 'one', 1, '2020-01-01'), (2, "two", DEFAULT, NULL);
INSERT INTO plain (v) VALUES ('implicit'), ('again');
INSERT INTO plain VALUES (NULL, 'null', 3, NULL), (0, 'zero', 4, NULL);
INSERT INTO plain VALUES (@start, @word, @start + 1, '2020-02-02'), (LAST_INSERT_ID() + 200, UPPER('fn'), 1+2*3, CURDATE() - CURDATE());
INSERT INTO plain SET v = 'by set', n = 5;
INSERT INTO plain (id, v) SELECT id + 1000, CONCAT(v, ' copied') FROM plain;
INSERT INTO plain (id, v) VALUES (1, 'dup') ON DUPLICATE KEY UPDATE v = CONCAT(plain.v, '+', VALUES(v));
INSERT IGNORE INTO plain (id, v) VALUES (1, 'ignored'), (5000, 'kept'), (5000, 'twice');
REPLACE INTO plain (id, v) VALUES (2, 'replaced'), (5001, 'new'), (5001, 'newer');
INSERT INTO plain (v) VALUES ('after'); INSERT INTO plain (v) VALUES ('same line'); -- and a comment
insert into `plain` (`v`)values('tight'),( 'spaced' ) , ('x' 'joined' /* inside */),(_utf8mb4'introduced'),(N'national');
INSERT INTO plain (v, n) VALUES (TRUE, FALSE), (0x41, 0x41), (x'42', x'32'), (b'1000011', 0x33), (-1, - 5), (+7, +7), (1e2, 1e2), (.5, 2.5);

-- Not strict: values are made to fit, with warnings.
SET sql_mode = '';
CREATE TABLE loose (id INT NOT NULL PRIMARY KEY, t TINYINT, c CHAR(3), d DATE NOT NULL, e ENUM('a', 'b'), s SET('x', 'y'), y YEAR,
  dt DATETIME, de DECIMAL(4,1), nn INT NOT NULL, ti TIME, b BIT(4), f FLOAT);
INSERT INTO loose VALUES (1, 1000, 'too long', '2023-02-31', 'c', 'x,z', 99, '20200102030405', 12345.67, 'abc', '25:61:00', 255, 'x1'),
  (2, '12x', 7, 20200304, 2, 3, '0', 'garbage', '1.25', NULL, 123456, 'a', 1e39), (3, -1000, NULL, NULL, '1', '', 0, 20200102, -0.05, 1.5, '11', 5, 0.1),
  ('4', ' 5 ', 1.50, '0', '', 0, '70', '2020-1-2 3:4', '1e1', '9 apples', '1 1:1:1', '', '-'), (5, 0x35, 0x35, '19', 'A', 'Y', 5, '2020-01-02T03:04:05', .5, TRUE, -5, b'101', 5.);
INSERT INTO loose (id) VALUES (6), (7);
SET sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_DATE';
INSERT INTO loose (id, d, nn) VALUES (8, '2020-01-01', 1);

-- Quoting by sql_mode.
SET sql_mode = 'ANSI_QUOTES';
CREATE TABLE "quoted" ("id" INT NOT NULL PRIMARY KEY, "it's" VARCHAR(30));
INSERT INTO "quoted" ("id", "it's") VALUES (1, 'a;b'), (2, 'c\'d');
SET sql_mode = 'NO_BACKSLASH_ESCAPES';
INSERT INTO quoted VALUES (3, '\'), (4, 'a\nb\'), (5, "\"), (6, ';''\''\');
SET sql_mode = DEFAULT;
INSERT INTO quoted VALUES (7, '\\'), (8, '\n\t\0\Z\%\_\x');

-- Character sets of the session.
SET NAMES latin1;
CREATE TABLE sets (id INT NOT NULL PRIMARY KEY, v VARCHAR(40)) CHARACTER SET utf8mb4;
INSERT INTO sets VALUES (1, 'äöü');
SET NAMES utf8mb4;
INSERT INTO sets VALUES (2, 'äöü 😀'), (3, _latin1'äö'), (4, _binary'äö');
SET NAMES gbk;
INSERT INTO sets VALUES (5, 'x');
SET NAMES utf8mb4;

-- Time zones of the session.
CREATE TABLE zones (id INT NOT NULL PRIMARY KEY, ts TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP);
SET time_zone = '+05:00';
INSERT INTO zones VALUES (1, '2020-01-01 12:00:00');
SET time_zone = '-03:30';
INSERT INTO zones VALUES (2, '2020-01-01 12:00:00');
SET timestamp = 1600000000;
INSERT INTO zones (id) VALUES (3);
SET timestamp = DEFAULT, time_zone = DEFAULT;

-- What changes between rows of one table.
CREATE TABLE moved (id INT NOT NULL PRIMARY KEY, a INT);
INSERT INTO moved VALUES (1, 1), (2, 2);
ALTER TABLE moved ADD COLUMN b INT DEFAULT 5 FIRST;
INSERT INTO moved VALUES (7, 3, 3);
CREATE INDEX by_a ON moved (a);
UPDATE moved SET a = a + (SELECT COUNT(*) FROM plain);
DELETE FROM moved WHERE id = 1;
RENAME TABLE moved TO moved_on;
INSERT INTO moved_on VALUES (8, 4, 4);
CREATE TABLE emptied (id INT NOT NULL PRIMARY KEY);
INSERT INTO emptied VALUES (1), (2);
TRUNCATE TABLE emptied;
INSERT INTO emptied VALUES (2), (3);
CREATE TABLE twice (id INT NOT NULL PRIMARY KEY);
INSERT INTO twice VALUES (1);
DROP TABLE twice;
CREATE TABLE twice (id VARCHAR(10) NOT NULL PRIMARY KEY);
INSERT INTO twice VALUES ('other');
CREATE TABLE IF NOT EXISTS twice (nothing INT);
INSERT INTO twice VALUES ('more');
CREATE TABLE copied LIKE plain;
INSERT INTO copied SELECT * FROM plain WHERE id < 10;
CREATE TABLE selected (PRIMARY KEY (id)) AS SELECT id, v FROM plain;
CREATE TEMPORARY TABLE passing (id INT);
INSERT INTO passing VALUES (1), (2), (3);
CREATE TABLE passed AS SELECT SUM(id) AS total FROM passing;
DROP TEMPORARY TABLE passing;

-- Transactions, and their end.
BEGIN;
INSERT INTO emptied VALUES (11);
COMMIT;
SET autocommit = 0;
INSERT INTO emptied VALUES (12);
COMMIT;
SET autocommit = 1;
BEGIN;
INSERT INTO emptied VALUES (20);
ROLLBACK;
START TRANSACTION;
INSERT INTO emptied VALUES (21);
SAVEPOINT here;
INSERT INTO emptied VALUES (22);
ROLLBACK TO here;
COMMIT WORK;
SET autocommit = 0;
INSERT INTO emptied VALUES (23);
UPDATE emptied SET id = 24 WHERE id = 12;
ROLLBACK;
CREATE TABLE taken_back (id INT);
INSERT INTO taken_back VALUES (1), (2);
ROLLBACK;
INSERT INTO taken_back VALUES (3);
COMMIT;
INSERT INTO emptied VALUES (25);
CREATE TABLE between_them (id INT);
ROLLBACK;
BEGIN;
INSERT INTO emptied VALUES (26);
SET autocommit = 1;

-- What looks at rows before it.
CREATE TABLE counted (n INT, m BIGINT);
INSERT INTO counted VALUES ((SELECT COUNT(*) FROM plain), (SELECT SUM(id) FROM sets));
SET @n = (SELECT MAX(id) FROM plain);
INSERT INTO counted VALUES (@n, @n + 1);
/*!50000 INSERT INTO counted VALUES (50000, 1) */;
/*!999999 INSERT INTO counted VALUES (999999, 1) */;
/*M!100000 INSERT INTO counted VALUES (100000, 2) */;
INSERT INTO counted VALUES (/*!50000 3 */ /*!999999 + 1 */, 4);
CREATE TRIGGER on_plain AFTER INSERT ON plain FOR EACH ROW INSERT INTO counted VALUES (NEW.id, -1);
INSERT INTO plain (id, v) VALUES (9000, 'fires'), (9001, 'fires');
CREATE TABLE parent (id INT NOT NULL PRIMARY KEY);
CREATE TABLE child (id INT NOT NULL PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE);
INSERT INTO parent VALUES (1), (2), (3);
INSERT INTO child VALUES (1, 1), (2, 2);
DELETE FROM parent WHERE id = 2;
CREATE TABLE many (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT, KEY (v)) ENGINE=InnoDB;
SET auto_increment_increment = 3, auto_increment_offset = 2;
INSERT INTO many (v) VALUES (1), (2);
INSERT INTO many (v) VALUES (3);
SET auto_increment_increment = DEFAULT, auto_increment_offset = DEFAULT;
INSERT INTO many VALUES (NULL, 4), (100, 5), (NULL, 6), (50, 7), (NULL, 8);
INSERT INTO many VALUES (NULL, 9)
