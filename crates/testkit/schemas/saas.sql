-- Many tenants in one database: each key has the tenant, and the columns of two keys overlap.
CREATE TABLE tenant (
  tenant_id INT UNSIGNED NOT NULL,
  slug VARCHAR(40) CHARACTER SET ascii NOT NULL,
  plan ENUM('free','team','enterprise') NOT NULL DEFAULT 'free',
  PRIMARY KEY (tenant_id),
  UNIQUE KEY slug (slug)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE member (
  tenant_id INT UNSIGNED NOT NULL,
  member_id INT UNSIGNED NOT NULL,
  email VARCHAR(120) NOT NULL,
  invited_by INT UNSIGNED DEFAULT NULL,
  PRIMARY KEY (tenant_id, member_id),
  UNIQUE KEY email (tenant_id, email),
  CONSTRAINT member_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id) ON DELETE CASCADE,
  CONSTRAINT member_invited FOREIGN KEY (tenant_id, invited_by) REFERENCES member (tenant_id, member_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE project (
  tenant_id INT UNSIGNED NOT NULL,
  project_id INT UNSIGNED NOT NULL,
  owner INT UNSIGNED NOT NULL,
  title VARCHAR(120) NOT NULL,
  archived_at DATETIME DEFAULT NULL,
  PRIMARY KEY (tenant_id, project_id),
  KEY owned (tenant_id, owner),
  CONSTRAINT project_tenant FOREIGN KEY (tenant_id) REFERENCES tenant (tenant_id) ON DELETE CASCADE,
  CONSTRAINT project_owner FOREIGN KEY (tenant_id, owner) REFERENCES member (tenant_id, member_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
CREATE TABLE task (
  tenant_id INT UNSIGNED NOT NULL,
  project_id INT UNSIGNED NOT NULL,
  task_no INT UNSIGNED NOT NULL,
  assignee INT UNSIGNED DEFAULT NULL,
  blocks INT UNSIGNED DEFAULT NULL,
  title VARCHAR(200) NOT NULL,
  due DATE DEFAULT NULL,
  labels JSON DEFAULT NULL,
  PRIMARY KEY (tenant_id, project_id, task_no),
  CONSTRAINT task_project FOREIGN KEY (tenant_id, project_id) REFERENCES project (tenant_id, project_id) ON DELETE CASCADE,
  CONSTRAINT task_assignee FOREIGN KEY (tenant_id, assignee) REFERENCES member (tenant_id, member_id),
  CONSTRAINT task_blocks FOREIGN KEY (tenant_id, project_id, blocks) REFERENCES task (tenant_id, project_id, task_no)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;
