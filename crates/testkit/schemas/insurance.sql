-- Policies and claims: a long chain of cascades, each key one column longer.
CREATE TABLE insurer (
  id TINYINT NOT NULL,
  name VARCHAR(40) NOT NULL,
  PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE contract (
  insurer TINYINT NOT NULL,
  number INT NOT NULL,
  holder VARCHAR(60) NOT NULL,
  begins DATE NOT NULL,
  PRIMARY KEY (insurer, number),
  CONSTRAINT contract_insurer FOREIGN KEY (insurer) REFERENCES insurer (id) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE risk (
  insurer TINYINT NOT NULL,
  number INT NOT NULL,
  risk_no TINYINT UNSIGNED NOT NULL,
  sum_insured DECIMAL(14,2) NOT NULL,
  PRIMARY KEY (insurer, number, risk_no),
  CONSTRAINT risk_contract FOREIGN KEY (insurer, number) REFERENCES contract (insurer, number) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE claim (
  insurer TINYINT NOT NULL,
  number INT NOT NULL,
  risk_no TINYINT UNSIGNED NOT NULL,
  claim_no SMALLINT NOT NULL,
  happened DATETIME NOT NULL,
  PRIMARY KEY (insurer, number, risk_no, claim_no),
  CONSTRAINT claim_risk FOREIGN KEY (insurer, number, risk_no) REFERENCES risk (insurer, number, risk_no) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE payment (
  insurer TINYINT NOT NULL,
  number INT NOT NULL,
  risk_no TINYINT UNSIGNED NOT NULL,
  claim_no SMALLINT NOT NULL,
  payment_no SMALLINT NOT NULL,
  amount DECIMAL(12,2) NOT NULL,
  paid DATE DEFAULT NULL,
  PRIMARY KEY (insurer, number, risk_no, claim_no, payment_no),
  CONSTRAINT payment_claim FOREIGN KEY (insurer, number, risk_no, claim_no) REFERENCES claim (insurer, number, risk_no, claim_no) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
CREATE TABLE open_claim (
  insurer TINYINT DEFAULT NULL,
  number INT DEFAULT NULL,
  risk_no TINYINT UNSIGNED DEFAULT NULL,
  claim_no SMALLINT DEFAULT NULL,
  clerk VARCHAR(20) DEFAULT NULL,
  UNIQUE KEY claim_once (insurer, number, risk_no, claim_no),
  CONSTRAINT open_claim_of FOREIGN KEY (insurer, number, risk_no, claim_no) REFERENCES claim (insurer, number, risk_no, claim_no) ON DELETE SET NULL ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=latin1;
