CREATE TABLE countries (id INT PRIMARY KEY, code CHAR(2) NOT NULL UNIQUE);
CREATE TABLE people (name VARCHAR(20) PRIMARY KEY, country_id INT NOT NULL, FOREIGN KEY (country_id) REFERENCES countries (id));
INSERT INTO countries VALUES (49, 'DE'), (43, 'AT');
