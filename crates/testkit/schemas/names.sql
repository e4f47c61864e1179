-- Names as long as they may be, in any writing, with spaces, quotes and words of SQL.
CREATE TABLE `select` (
  `from` INT NOT NULL,
  `where and when` VARCHAR(40) NOT NULL,
  `a``b` INT DEFAULT NULL,
  PRIMARY KEY (`from`),
  UNIQUE KEY `order by` (`where and when`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE `заказы покупателей` (
  `номер` INT NOT NULL AUTO_INCREMENT,
  `откуда` INT DEFAULT NULL,
  `примечание` VARCHAR(60) DEFAULT NULL COMMENT 'текст; с точкой с запятой',
  PRIMARY KEY (`номер`),
  CONSTRAINT `ключ наружу` FOREIGN KEY (`откуда`) REFERENCES `select` (`from`) ON DELETE SET NULL ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COMMENT='заказы';
CREATE TABLE `aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg` (
  `hhhhhhhhhhiiiiiiiiiijjjjjjjjjjkkkkkkkkkkllllllllllmmmmmmmmmmnnnn` INT NOT NULL,
  `номер` INT NOT NULL,
  PRIMARY KEY (`hhhhhhhhhhiiiiiiiiiijjjjjjjjjjkkkkkkkkkkllllllllllmmmmmmmmmmnnnn`),
  UNIQUE KEY `ooooooooooppppppppppqqqqqqqqqqrrrrrrrrrrssssssssssttttttttttuuuu` (`номер`),
  CONSTRAINT `vvvvvvvvvvwwwwwwwwwwxxxxxxxxxxyyyyyyyyyyzzzzzzzzzz0000000000111` FOREIGN KEY (`номер`) REFERENCES `заказы покупателей` (`номер`) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE `a-b.c/d` (
  `1` BIGINT NOT NULL,
  `"` VARCHAR(10) DEFAULT NULL,
  `'` INT DEFAULT NULL,
  `%` INT NOT NULL,
  PRIMARY KEY (`1`),
  KEY `%` (`%` DESC),
  CONSTRAINT `it's` FOREIGN KEY (`'`) REFERENCES `a-b.c/d` (`%`) ON DELETE CASCADE,
  CONSTRAINT `"b"` FOREIGN KEY (`%`) REFERENCES `select` (`from`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE `表` (
  `主キー` INT NOT NULL,
  `参照` INT DEFAULT NULL,
  PRIMARY KEY (`主キー`),
  CONSTRAINT `外部キー` FOREIGN KEY (`参照`) REFERENCES `表` (`主キー`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE `Case` (
  id INT NOT NULL PRIMARY KEY,
  v INT DEFAULT NULL,
  CONSTRAINT `Fk` FOREIGN KEY (v) REFERENCES `Case` (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
