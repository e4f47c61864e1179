-- A hospital: wards and their head nurses, stays, findings, prescriptions with a history.
CREATE TABLE ward (
  ward_no TINYINT UNSIGNED NOT NULL,
  name VARCHAR(50) NOT NULL,
  head INT UNSIGNED DEFAULT NULL,
  beds TINYINT UNSIGNED NOT NULL,
  PRIMARY KEY (ward_no)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_swedish_ci;
CREATE TABLE staff (
  staff_no INT UNSIGNED NOT NULL,
  ward_no TINYINT UNSIGNED DEFAULT NULL,
  supervisor INT UNSIGNED DEFAULT NULL,
  name VARCHAR(80) NOT NULL,
  sex ENUM('f','m','x') DEFAULT NULL,
  since DATE NOT NULL,
  PRIMARY KEY (staff_no),
  CONSTRAINT staff_ward FOREIGN KEY (ward_no) REFERENCES ward (ward_no) ON DELETE SET NULL ON UPDATE CASCADE,
  CONSTRAINT staff_supervisor FOREIGN KEY (supervisor) REFERENCES staff (staff_no)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_swedish_ci;
ALTER TABLE ward ADD CONSTRAINT ward_head FOREIGN KEY (head) REFERENCES staff (staff_no) ON DELETE SET NULL;
CREATE TABLE patient (
  patient_no CHAR(10) CHARACTER SET latin1 COLLATE latin1_general_cs NOT NULL,
  name VARCHAR(80) NOT NULL,
  born DATE NOT NULL,
  blood SET('A','B','0','Rh+') NOT NULL DEFAULT '',
  next_of_kin VARCHAR(80) DEFAULT NULL,
  PRIMARY KEY (patient_no),
  KEY name (name, born)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_swedish_ci;
CREATE TABLE stay (
  patient_no CHAR(10) CHARACTER SET latin1 COLLATE latin1_general_cs NOT NULL,
  admitted DATETIME NOT NULL,
  discharged DATETIME DEFAULT NULL,
  ward_no TINYINT UNSIGNED NOT NULL,
  PRIMARY KEY (patient_no, admitted),
  CONSTRAINT stay_patient FOREIGN KEY (patient_no) REFERENCES patient (patient_no) ON UPDATE CASCADE,
  CONSTRAINT stay_ward FOREIGN KEY (ward_no) REFERENCES ward (ward_no) ON UPDATE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE finding (
  patient_no CHAR(10) CHARACTER SET latin1 COLLATE latin1_general_cs NOT NULL,
  admitted DATETIME NOT NULL,
  seen DATETIME(1) NOT NULL,
  by_staff INT UNSIGNED DEFAULT NULL,
  icd VARCHAR(8) CHARACTER SET ascii NOT NULL,
  image LONGBLOB,
  dictated MEDIUMTEXT CHARACTER SET utf8mb3,
  PRIMARY KEY (patient_no, admitted, seen, icd),
  CONSTRAINT finding_stay FOREIGN KEY (patient_no, admitted) REFERENCES stay (patient_no, admitted) ON DELETE CASCADE ON UPDATE CASCADE,
  CONSTRAINT finding_staff FOREIGN KEY (by_staff) REFERENCES staff (staff_no) ON DELETE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE prescription (
  id INT UNSIGNED NOT NULL AUTO_INCREMENT,
  patient_no CHAR(10) CHARACTER SET latin1 COLLATE latin1_general_cs NOT NULL,
  drug VARCHAR(60) NOT NULL,
  dose DECIMAL(8,4) UNSIGNED NOT NULL,
  replaced_by INT UNSIGNED DEFAULT NULL,
  PRIMARY KEY (id),
  CONSTRAINT prescription_patient FOREIGN KEY (patient_no) REFERENCES patient (patient_no),
  CONSTRAINT prescription_next FOREIGN KEY (replaced_by) REFERENCES prescription (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
