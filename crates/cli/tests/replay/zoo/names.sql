-- Names that need quoting, in every place.
SET NAMES utf8mb4;
CREATE TABLE `it's a ``table``; -- here` (
  `back``tick` INT NOT NULL, `space d` INT, `"double"` INT, `'single'` VARCHAR(20), `select` INT, `/*` INT, `größe` INT,
  `日本語` VARCHAR(20), `a.b` INT, `values` INT, `#` INT, `1` INT, `--` INT, `(` INT, `\\` INT,
  PRIMARY KEY (`back``tick`), KEY `key ``of`` it` (`space d`, `größe`), CONSTRAINT `check;` CHECK (`1` < 10)
) DEFAULT CHARSET=utf8mb4 COMMENT='quote '' and ; and -- and `';
INSERT INTO `it's a ``table``; -- here` SELECT seq, seq, seq, CONCAT('r''', seq), seq, seq, seq, '日本', seq, seq, seq, 1, seq, seq, seq
  FROM seq_1_to_100;
CREATE TABLE `größe` (`ключ` INT NOT NULL PRIMARY KEY, `ß` VARCHAR(10)) DEFAULT CHARSET=utf8mb4;
INSERT INTO `größe` VALUES (1, 'ß'), (2, 'ẞ');
CREATE TABLE `values` (`values` INT NOT NULL PRIMARY KEY, `insert` VARCHAR(30));
INSERT INTO `values` VALUES (1, ') VALUES ('), (2, '),('), (3, ''');(''');
CREATE TABLE `a/b\\c.d` (`x` INT NOT NULL PRIMARY KEY);
INSERT INTO `a/b\\c.d` VALUES (1), (2);
CREATE TABLE `MixedCase` (`Id` INT NOT NULL PRIMARY KEY);
CREATE TABLE `mixedcase` (`id` INT NOT NULL PRIMARY KEY, `v` INT);
INSERT INTO `MixedCase` VALUES (1);
INSERT INTO `mixedcase` VALUES (2, 3);
CREATE TABLE `a_name_of_sixty_four_characters_which_is_the_most_there_may_eve_` (`x` INT NOT NULL PRIMARY KEY, `y` INT,
  FOREIGN KEY `fk``1` (`y`) REFERENCES `größe` (`ключ`));
INSERT INTO `a_name_of_sixty_four_characters_which_is_the_most_there_may_eve_` VALUES (1, 1), (2, NULL);
CREATE VIEW `view; of "names"` AS SELECT `back``tick`, `größe` AS `o'clock` FROM `it's a ``table``; -- here`;
CREATE TRIGGER `trigger;'s` BEFORE INSERT ON `größe` FOR EACH ROW SET NEW.`ß` = 'x';
