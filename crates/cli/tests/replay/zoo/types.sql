-- Every type, and the values at the ends of each.
SET NAMES utf8mb4, sql_mode = 'NO_AUTO_VALUE_ON_ZERO', time_zone = '+00:00';

CREATE TABLE numbers (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY,
  t TINYINT, tu TINYINT UNSIGNED ZEROFILL, s SMALLINT, m MEDIUMINT, mz MEDIUMINT(7) UNSIGNED ZEROFILL,
  b BIGINT, bu BIGINT UNSIGNED, yes BOOL,
  de DECIMAL(65,30), d0 DECIMAL(10,0) ZEROFILL, f FLOAT, f2 FLOAT(7,3), d DOUBLE, d2 DOUBLE(20,5),
  bit1 BIT(1), bit9 BIT(9), bit64 BIT(64), KEY (d), KEY (de)
) ENGINE=InnoDB AUTO_INCREMENT=5000;
INSERT INTO numbers VALUES
  (0, -128, 255, -32768, -8388608, 42, -9223372036854775808, 18446744073709551615, TRUE,
   '-12345678901234567890123456789012345.123456789012345678901234567890', 7, -3.40282e38, 1234.567,
   -1.7976931348623157e308, -1234567890.12345, b'1', b'101010101', 0xFFFFFFFFFFFFFFFF),
  (1, 127, 0, 32767, 8388607, 0, 9223372036854775807, 0, FALSE,
   '0.000000000000000000000000000001', 9999999999, 1.17549e-38, -0.001, 2.2250738585072014e-308, 0,
   b'0', 0, 0x5C27),
  (4294967295, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
   NULL, NULL),
  (2, 0, 1, 0, 0, 1, 0, 1, 1, '-0.1', 0, 0.1, 0.1, 0.1, 0.1, 0, 0x5C, 0x0A0D1A00),
  (3, 0, 1, 0, 0, 1, 0, 1, 1, '1', 0, -0.0, 16777216, -0.0, 1e15, 0, 0x27, 0x2F2A);

CREATE TABLE times (
  id INT NOT NULL PRIMARY KEY, d DATE, t TIME, t6 TIME(6), dt DATETIME, dt3 DATETIME(3), dt6 DATETIME(6),
  ts TIMESTAMP NULL, ts6 TIMESTAMP(6) NULL, y YEAR,
  made TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, KEY (ts), KEY (y)
);
INSERT INTO times VALUES
  (1, '0000-00-00', '-838:59:59', '-00:00:00.000001', '0000-00-00 00:00:00', '1000-01-01 00:00:00.001',
   '9999-12-31 23:59:59.999999', '1970-01-01 00:00:01', '2038-01-19 03:14:07.999999', 1901, '2001-02-03 04:05:06'),
  (2, '2024-02-00', '838:59:59', '838:59:59.999999', '2023-00-31 12:00:00', '2023-02-28 01:02:03.456',
   '0001-01-01 00:00:00', '2023-03-26 01:30:00', '2023-10-29 00:30:00.5', 2155, '2023-10-29 01:30:00'),
  (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, '2020-01-01'),
  (4, '9999-12-31', '00:00:00', '0', '9999-12-31 23:59:59', '2020-02-29', '2020-02-29 1:2:3', '0000-00-00 00:00:00',
   '0000-00-00 00:00:00', 0, '0000-00-00 00:00:00');

CREATE TABLE words (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  u4 VARCHAR(200) CHARACTER SET utf8mb4, u3 VARCHAR(200) CHARACTER SET utf8mb3, l1 VARCHAR(200) CHARACTER SET latin1,
  u2 VARCHAR(100) CHARACTER SET ucs2, u16 VARCHAR(100) CHARACTER SET utf16, u32 VARCHAR(50) CHARACTER SET utf32,
  sj VARCHAR(50) CHARACTER SET sjis, gb VARCHAR(50) CHARACTER SET gbk, b5 VARCHAR(50) CHARACTER SET big5,
  c CHAR(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, ch CHAR(5) CHARACTER SET latin1, j JSON,
  e ENUM('', 'it''s', 'a,b', 'x\\y', 'gr\u00fcn', '1', '0') CHARACTER SET utf8mb4,
  st SET('one', 'two', 'it''s', '4') CHARACTER SET utf8mb4,
  long_text LONGTEXT CHARACTER SET utf8mb4, KEY (u4), KEY (c), UNIQUE KEY (l1), FULLTEXT KEY (long_text)
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
INSERT INTO words (u4, u3, l1, u2, u16, u32, sj, gb, b5, c, ch, j, e, st, long_text) VALUES
  ('grün 😀 ''quoted'' "double" `tick`', 'naïve', 'café', 'ЖЖ', '😀x', '𝄞', '表示', '許功蓋', '許功蓋', 'ab  ', 'x  ',
   '{"a": [1, 2, "it''s \\"so\\""]}', 'it''s', 'one,it''s', REPEAT('line with ''quotes'', a \\ and a \n newline. ', 500)),
  ('\0\b\n\r\t\Z\\%\_', '\\', '\\''', '\\', '\'', '"', 'ソ\\', '\\', '\\', '\t', '\n', '[]', '', '', ''),
  ('-- not a comment', '/* nor this */', '; nor an end', '/*! nor */', '# no', 'DELIMITER //', 'x', 'y', 'z', '', '',
   NULL, 'a,b', 'two', 'INSERT INTO `words` VALUES (1,''x'');\n-- \n/*'),
  (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
  ('1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', '12', '1', '4', '13'),
  ('NULL', '\\N', 'NULL', 'null', '\N', '', '', '', '', 'a\tb', 'é', '"\\u00fc"', '0', 'one,two,it''s,4', 'end\\');
UPDATE words SET e = 0 WHERE id = 3;

CREATE TABLE bytes (
  id BINARY(4) NOT NULL PRIMARY KEY, b BINARY(16), vb VARBINARY(300), tb TINYBLOB, bl BLOB, mb MEDIUMBLOB, lb LONGBLOB,
  i4 INET4, i6 INET6, u UUID, g GEOMETRY, p POINT NOT NULL, KEY (vb(10)), KEY (u), SPATIAL KEY (p)
);
INSERT INTO bytes VALUES
  ('\0\0\0', '\\''"`', x'00010203040506070809', x'', x'FF', x'27', x'5C', '1.2.3.4', '::1',
   '01234567-89ab-cdef-0123-456789abcdef', ST_GeomFromText('LINESTRING(0 0, 1 1.5)'), POINT(1, -2)),
  ('a', x'C3', x'E9FF', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, POINT(0, 0)),
  (x'5C27FF00', 'end', CONCAT('a', x'00', 'b\n', x'1A'), x'80', x'EDA080', x'C328', x'27275C5C', '255.255.255.255',
   '2001:db8::ff00:42:8329', 'ffffffff-ffff-ffff-ffff-ffffffffffff', ST_GeomFromText('POLYGON((0 0,0 1,1 1,0 0))', 4326),
   POINT(1e300, 2));
-- Every byte, and every pair of a quote or backslash with another byte.
INSERT INTO bytes (id, bl, lb, p)
  SELECT UNHEX(LPAD(HEX(seq + 4096), 8, '1')), UNHEX(CONCAT('5C', LPAD(HEX(seq), 2, '0'), '27', LPAD(HEX(seq), 2, '0'))),
    REPEAT(UNHEX(LPAD(HEX(seq), 2, '0')), seq * 40), POINT(seq, seq) FROM seq_0_to_255;

-- Statements longer than any buffer that reads them.
CREATE TABLE large (id INT NOT NULL PRIMARY KEY, body LONGBLOB, tail VARCHAR(20));
INSERT INTO large SELECT seq, REPEAT(UNHEX(CONCAT('27', LPAD(HEX(seq), 2, '0'), '5C295C')), 200000), CONCAT('tail ', seq)
  FROM seq_1_to_2;

CREATE TABLE made (
  id INT NOT NULL PRIMARY KEY, a INT, b VARCHAR(20),
  twice INT GENERATED ALWAYS AS (a * 2) VIRTUAL, kept INT AS (a + 1) PERSISTENT, upper_b VARCHAR(30) AS (UPPER(b)) STORED,
  hidden INT INVISIBLE DEFAULT 7, d DATETIME DEFAULT (NOW() + INTERVAL 1 DAY), u VARCHAR(40) DEFAULT (CONCAT('x', '''y')),
  squeezed TEXT COMPRESSED, CONSTRAINT a_small CHECK (a < 1000), KEY (twice), UNIQUE KEY (kept)
);
INSERT INTO made (id, a, b, hidden, d, squeezed) VALUES
  (1, 1, 'ab', 1, '2020-01-01', 'x'), (2, 2, NULL, NULL, NULL, NULL), (3, 3, 'ß', 3, '2021-02-03 04:05:06', REPEAT('long ', 1000));

CREATE TABLE keyless (a INT, b VARCHAR(20));
INSERT INTO keyless SELECT seq * 7919 % 500, CONCAT('row ', seq) FROM seq_1_to_500;
INSERT INTO keyless SELECT * FROM keyless LIMIT 20;

CREATE TABLE empty (a INT NOT NULL PRIMARY KEY, b TEXT) COMMENT='nothing; ''here''';
CREATE TABLE parted (id INT NOT NULL PRIMARY KEY, v VARCHAR(10)) PARTITION BY RANGE (id)
  (PARTITION p0 VALUES LESS THAN (100), PARTITION p1 VALUES LESS THAN MAXVALUE);
INSERT INTO parted SELECT seq * 3, seq FROM seq_1_to_100;
CREATE TABLE versioned (id INT NOT NULL PRIMARY KEY, v INT) WITH SYSTEM VERSIONING;
INSERT INTO versioned VALUES (1, 1), (2, 2);
UPDATE versioned SET v = 3 WHERE id = 2;
CREATE TABLE packed (id INT NOT NULL PRIMARY KEY, v VARCHAR(200)) ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8;
INSERT INTO packed SELECT seq, REPEAT('x', seq) FROM seq_1_to_200;
CREATE TABLE isam (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20), KEY (v)) ENGINE=MyISAM;
INSERT INTO isam (v) SELECT CONCAT('v', seq) FROM seq_1_to_50;
CREATE TABLE aria (id INT NOT NULL PRIMARY KEY, v VARCHAR(20)) ENGINE=Aria TRANSACTIONAL=1;
INSERT INTO aria SELECT seq, seq FROM seq_1_to_20;
CREATE TABLE memory (id INT NOT NULL PRIMARY KEY, v VARCHAR(20)) ENGINE=MEMORY;
INSERT INTO memory SELECT seq, seq FROM seq_1_to_20;
CREATE TABLE csv (id INT NOT NULL, v VARCHAR(20) NOT NULL) ENGINE=CSV;
INSERT INTO csv VALUES (1, 'a"b'), (2, 'c,d\n');

CREATE SEQUENCE numbers_seq START WITH 100 INCREMENT BY 5 CACHE 10;
DO NEXTVAL(numbers_seq);
-- Numbers with gaps, and a table whose next number is far above its rows.
CREATE TABLE gaps (id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, v INT, UNIQUE KEY (v)) AUTO_INCREMENT=1000000;
INSERT INTO gaps VALUES (-5, 1), (0, 2), (17, 3);
