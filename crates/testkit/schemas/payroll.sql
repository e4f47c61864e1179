-- Pay: departments in a tree, grades, salaries over time, deductions by rule.
CREATE TABLE department (
  dept_no CHAR(4) NOT NULL,
  dept_name VARCHAR(40) NOT NULL,
  above CHAR(4) DEFAULT NULL,
  PRIMARY KEY (dept_no),
  UNIQUE KEY dept_name (dept_name),
  CONSTRAINT dept_above FOREIGN KEY (above) REFERENCES department (dept_no) ON UPDATE NO ACTION ON DELETE NO ACTION
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_danish_ci;
CREATE TABLE employee (
  emp_no INT NOT NULL,
  birth_date DATE NOT NULL,
  first_name VARCHAR(14) NOT NULL,
  last_name VARCHAR(16) NOT NULL,
  gender ENUM('M','F','X') NOT NULL,
  hire_date DATE NOT NULL,
  PRIMARY KEY (emp_no)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_danish_ci;
CREATE TABLE dept_emp (
  emp_no INT NOT NULL,
  dept_no CHAR(4) NOT NULL,
  from_date DATE NOT NULL,
  to_date DATE NOT NULL,
  PRIMARY KEY (emp_no, dept_no),
  KEY dept_no (dept_no),
  CONSTRAINT dept_emp_ibfk_1 FOREIGN KEY (emp_no) REFERENCES employee (emp_no) ON DELETE CASCADE,
  CONSTRAINT dept_emp_ibfk_2 FOREIGN KEY (dept_no) REFERENCES department (dept_no) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_danish_ci;
CREATE TABLE salary (
  emp_no INT NOT NULL,
  from_date DATE NOT NULL,
  to_date DATE NOT NULL,
  salary INT NOT NULL,
  PRIMARY KEY (emp_no, from_date),
  CONSTRAINT salary_ibfk_1 FOREIGN KEY (emp_no) REFERENCES employee (emp_no) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE deduction (
  id INT NOT NULL AUTO_INCREMENT,
  emp_no INT NOT NULL,
  from_date DATE NOT NULL,
  kind VARCHAR(20) NOT NULL,
  percent DECIMAL(5,3) NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT deduction_salary FOREIGN KEY (emp_no, from_date) REFERENCES salary (emp_no, from_date) ON DELETE CASCADE ON UPDATE CASCADE
) ENGINE=InnoDB AUTO_INCREMENT=100000 DEFAULT CHARSET=utf8mb4;
CREATE VIEW current_dept AS SELECT emp_no, MAX(from_date) AS since FROM dept_emp GROUP BY emp_no;
