-- A CMS: posts of all kinds in one table, terms, options, fields in JSON.
CREATE TABLE cms_users (
  ID bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  user_login varchar(60) NOT NULL DEFAULT '',
  user_registered datetime NOT NULL DEFAULT '2000-01-01 00:00:00',
  PRIMARY KEY (ID),
  KEY user_login_key (user_login)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
CREATE TABLE cms_posts (
  ID bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  post_author bigint(20) unsigned DEFAULT NULL,
  post_parent bigint(20) unsigned DEFAULT NULL,
  post_date datetime NOT NULL,
  post_content longtext NOT NULL,
  post_title text NOT NULL,
  post_status varchar(20) NOT NULL DEFAULT 'publish',
  post_name varchar(200) NOT NULL DEFAULT '',
  PRIMARY KEY (ID),
  KEY post_name (post_name(191)),
  KEY type_status_date (post_status, post_date, ID),
  CONSTRAINT cms_author FOREIGN KEY (post_author) REFERENCES cms_users (ID) ON DELETE SET NULL,
  CONSTRAINT cms_parent FOREIGN KEY (post_parent) REFERENCES cms_posts (ID) ON DELETE CASCADE
) ENGINE=InnoDB AUTO_INCREMENT=4 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
CREATE TABLE cms_postmeta (
  meta_id bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  post_id bigint(20) unsigned NOT NULL,
  meta_key varchar(255) DEFAULT NULL,
  meta_value longtext,
  fields JSON DEFAULT NULL,
  PRIMARY KEY (meta_id),
  KEY meta_key (meta_key(191)),
  CONSTRAINT cms_meta_post FOREIGN KEY (post_id) REFERENCES cms_posts (ID) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
CREATE TABLE cms_terms (
  term_id bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  name varchar(200) NOT NULL DEFAULT '',
  slug varchar(200) NOT NULL DEFAULT '',
  PRIMARY KEY (term_id),
  KEY slug (slug(191)),
  KEY name (name(191))
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
CREATE TABLE cms_relationships (
  object_id bigint(20) unsigned NOT NULL DEFAULT 0,
  term_id bigint(20) unsigned NOT NULL DEFAULT 0,
  term_order int(11) NOT NULL DEFAULT 0,
  PRIMARY KEY (object_id, term_id),
  KEY term_id (term_id),
  CONSTRAINT cms_rel_post FOREIGN KEY (object_id) REFERENCES cms_posts (ID) ON DELETE CASCADE,
  CONSTRAINT cms_rel_term FOREIGN KEY (term_id) REFERENCES cms_terms (term_id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
CREATE TABLE cms_options (
  option_id bigint(20) unsigned NOT NULL AUTO_INCREMENT,
  option_name varchar(191) NOT NULL DEFAULT '',
  option_value longtext NOT NULL,
  autoload varchar(20) NOT NULL DEFAULT 'yes',
  PRIMARY KEY (option_id),
  UNIQUE KEY option_name (option_name),
  KEY autoload (autoload)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_520_ci;
