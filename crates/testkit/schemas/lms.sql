-- Courses: modules in order, enrolments, attempts, grades with a checked range.
-- sent attempt: CHECK constraint
CREATE TABLE lms_user (
  id INT(11) NOT NULL AUTO_INCREMENT,
  username VARCHAR(100) NOT NULL,
  lang CHAR(5) NOT NULL DEFAULT 'en',
  timezone VARCHAR(40) NOT NULL DEFAULT '99',
  PRIMARY KEY (id),
  UNIQUE KEY username (username)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE course (
  id INT(11) NOT NULL AUTO_INCREMENT,
  shortname VARCHAR(80) NOT NULL,
  fullname VARCHAR(254) NOT NULL,
  starts DATE DEFAULT NULL,
  requires INT(11) DEFAULT NULL,
  PRIMARY KEY (id),
  UNIQUE KEY shortname (shortname),
  CONSTRAINT course_requires FOREIGN KEY (requires) REFERENCES course (id) ON DELETE SET NULL ON UPDATE SET NULL
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE course_module (
  course_id INT(11) NOT NULL,
  section TINYINT NOT NULL,
  position TINYINT NOT NULL,
  name VARCHAR(120) NOT NULL,
  settings JSON NOT NULL,
  PRIMARY KEY (course_id, section, position),
  CONSTRAINT module_course FOREIGN KEY (course_id) REFERENCES course (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_ci;
CREATE TABLE enrolment (
  user_id INT(11) NOT NULL,
  course_id INT(11) NOT NULL,
  role ENUM('student','teacher','guest') NOT NULL DEFAULT 'student',
  since DATETIME NOT NULL,
  PRIMARY KEY (user_id, course_id),
  KEY in_course (course_id, role),
  CONSTRAINT enrolment_user FOREIGN KEY (user_id) REFERENCES lms_user (id) ON DELETE CASCADE,
  CONSTRAINT enrolment_course FOREIGN KEY (course_id) REFERENCES course (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE attempt (
  id BIGINT(10) NOT NULL AUTO_INCREMENT,
  user_id INT(11) NOT NULL,
  course_id INT(11) NOT NULL,
  section TINYINT NOT NULL,
  position TINYINT NOT NULL,
  took TIME(2) DEFAULT NULL,
  score DECIMAL(5,2) DEFAULT NULL,
  PRIMARY KEY (id),
  CONSTRAINT attempt_enrolment FOREIGN KEY (user_id, course_id) REFERENCES enrolment (user_id, course_id) ON DELETE CASCADE,
  CONSTRAINT attempt_module FOREIGN KEY (course_id, section, position) REFERENCES course_module (course_id, section, position),
  CONSTRAINT score_range CHECK (score BETWEEN -1000 AND 1000)
) ENGINE=InnoDB AUTO_INCREMENT=33 DEFAULT CHARSET=utf8mb4;
