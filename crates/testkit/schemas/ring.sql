-- Three tables in a ring, through columns that may be empty, and one that hangs on all of them.
CREATE TABLE team (
  id INT NOT NULL PRIMARY KEY,
  captain INT DEFAULT NULL,
  name VARCHAR(40) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE player (
  id INT NOT NULL PRIMARY KEY,
  best_match INT DEFAULT NULL,
  name VARCHAR(40) NOT NULL
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE game (
  id INT NOT NULL PRIMARY KEY,
  winner INT DEFAULT NULL,
  played DATE NOT NULL,
  CONSTRAINT game_winner FOREIGN KEY (winner) REFERENCES team (id) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
ALTER TABLE team ADD CONSTRAINT team_captain FOREIGN KEY (captain) REFERENCES player (id) ON DELETE SET NULL;
ALTER TABLE player ADD CONSTRAINT player_best FOREIGN KEY (best_match) REFERENCES game (id) ON DELETE SET NULL;
CREATE TABLE appearance (
  team_id INT NOT NULL,
  player_id INT NOT NULL,
  game_id INT NOT NULL,
  goals TINYINT UNSIGNED NOT NULL DEFAULT 0,
  PRIMARY KEY (game_id, team_id, player_id),
  CONSTRAINT appearance_team FOREIGN KEY (team_id) REFERENCES team (id) ON DELETE CASCADE,
  CONSTRAINT appearance_player FOREIGN KEY (player_id) REFERENCES player (id) ON DELETE CASCADE,
  CONSTRAINT appearance_game FOREIGN KEY (game_id) REFERENCES game (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
