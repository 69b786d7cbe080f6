-- Every statement sent to a root's index.sqlite. `-- name --` starts one; the comment under it says why.

-- schema --
-- The contract's tables with exactly its columns: other programs open this file too. The journal is the contract's.
CREATE TABLE IF NOT EXISTS mailbox_registrations (
  registration_id TEXT PRIMARY KEY,
  address TEXT NOT NULL,
  owner_principal_id TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('active', 'inactive', 'stashed')),
  mailbox_kind TEXT NOT NULL CHECK (mailbox_kind IN ('in_root', 'symlink')),
  mailbox_path TEXT NOT NULL,
  mailbox_entry_path TEXT NOT NULL,
  display_name TEXT,
  manifest_path_hint TEXT,
  role TEXT,
  created_at_utc TEXT NOT NULL,
  deactivated_at_utc TEXT,
  replaced_by_registration_id TEXT REFERENCES mailbox_registrations(registration_id)
);
CREATE UNIQUE INDEX IF NOT EXISTS idx_mailbox_registrations_active_address
  ON mailbox_registrations(address) WHERE status = 'active';
CREATE INDEX IF NOT EXISTS idx_mailbox_registrations_owner ON mailbox_registrations(owner_principal_id);
CREATE TABLE IF NOT EXISTS messages (
  message_id TEXT PRIMARY KEY,
  thread_id TEXT NOT NULL,
  in_reply_to TEXT,
  created_at_utc TEXT NOT NULL,
  canonical_path TEXT NOT NULL,
  subject TEXT NOT NULL,
  body_markdown TEXT NOT NULL,
  headers_json TEXT NOT NULL DEFAULT '{}',
  sender_principal_id TEXT NOT NULL,
  sender_address TEXT NOT NULL,
  sender_display_name TEXT,
  sender_manifest_path_hint TEXT,
  sender_role TEXT,
  sender_registration_id TEXT
);
CREATE INDEX IF NOT EXISTS idx_messages_thread_id ON messages(thread_id);
CREATE TABLE IF NOT EXISTS message_recipients (
  message_id TEXT NOT NULL REFERENCES messages(message_id) ON DELETE CASCADE,
  recipient_kind TEXT NOT NULL CHECK (recipient_kind IN ('to', 'cc')),
  ordinal INTEGER NOT NULL,
  address TEXT NOT NULL,
  owner_principal_id TEXT NOT NULL,
  display_name TEXT,
  manifest_path_hint TEXT,
  role TEXT,
  delivered_registration_id TEXT,
  PRIMARY KEY (message_id, recipient_kind, ordinal)
);
CREATE INDEX IF NOT EXISTS idx_message_recipients_address ON message_recipients(address);
CREATE TABLE IF NOT EXISTS attachments (
  attachment_id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  locator TEXT NOT NULL,
  media_type TEXT NOT NULL,
  sha256 TEXT,
  size_bytes INTEGER,
  label TEXT
);
CREATE TABLE IF NOT EXISTS message_attachments (
  message_id TEXT NOT NULL REFERENCES messages(message_id) ON DELETE CASCADE,
  attachment_id TEXT NOT NULL REFERENCES attachments(attachment_id),
  ordinal INTEGER NOT NULL,
  PRIMARY KEY (message_id, attachment_id)
);
CREATE TABLE IF NOT EXISTS mailbox_projections (
  registration_id TEXT NOT NULL REFERENCES mailbox_registrations(registration_id) ON DELETE CASCADE,
  message_id TEXT NOT NULL REFERENCES messages(message_id) ON DELETE CASCADE,
  folder_name TEXT NOT NULL,
  projection_path TEXT NOT NULL,
  PRIMARY KEY (registration_id, message_id, folder_name)
);
CREATE TABLE IF NOT EXISTS mailbox_state (
  registration_id TEXT NOT NULL REFERENCES mailbox_registrations(registration_id) ON DELETE CASCADE,
  message_id TEXT NOT NULL REFERENCES messages(message_id) ON DELETE CASCADE,
  is_read INTEGER NOT NULL DEFAULT 0,
  is_answered INTEGER NOT NULL DEFAULT 0,
  is_starred INTEGER NOT NULL DEFAULT 0,
  is_archived INTEGER NOT NULL DEFAULT 0,
  is_deleted INTEGER NOT NULL DEFAULT 0,
  box_name TEXT NOT NULL DEFAULT 'inbox',
  PRIMARY KEY (registration_id, message_id)
);
CREATE TABLE IF NOT EXISTS thread_summaries (
  thread_id TEXT PRIMARY KEY,
  normalized_subject TEXT NOT NULL,
  latest_message_id TEXT NOT NULL,
  latest_message_created_at_utc TEXT NOT NULL,
  unread_count INTEGER NOT NULL DEFAULT 0
);

-- active --
SELECT * FROM mailbox_registrations WHERE address = :address AND status = 'active';

-- by_id --
SELECT * FROM mailbox_registrations WHERE registration_id = :registration_id;

-- of_address --
-- Newest first: a mailbox that comes back is the one that was there last.
SELECT * FROM mailbox_registrations WHERE address = :address ORDER BY created_at_utc DESC, rowid DESC;

-- registrations --
SELECT * FROM mailbox_registrations ORDER BY address, created_at_utc, rowid;

-- active_at --
SELECT * FROM mailbox_registrations WHERE mailbox_path = :mailbox_path AND status = 'active';

-- put_registration --
INSERT INTO mailbox_registrations (registration_id, address, owner_principal_id, status, mailbox_kind,
  mailbox_path, mailbox_entry_path, display_name, manifest_path_hint, role, created_at_utc)
VALUES (:registration_id, :address, :owner_principal_id, :status, :mailbox_kind, :mailbox_path,
  :mailbox_entry_path, :display_name, :manifest_path_hint, :role, :created_at_utc);

-- restore_registration --
UPDATE mailbox_registrations SET deactivated_at_utc = :deactivated_at_utc
WHERE registration_id = :registration_id;

-- describe_registration --
UPDATE mailbox_registrations SET status = 'active', deactivated_at_utc = NULL,
  replaced_by_registration_id = NULL, display_name = coalesce(:display_name, display_name),
  manifest_path_hint = coalesce(:manifest_path_hint, manifest_path_hint), role = coalesce(:role, role)
WHERE registration_id = :registration_id;

-- deactivate --
UPDATE mailbox_registrations SET status = 'inactive', deactivated_at_utc = :now
WHERE registration_id = :registration_id;

-- replace --
UPDATE mailbox_registrations SET replaced_by_registration_id = :by WHERE registration_id = :registration_id;

-- stash --
UPDATE mailbox_registrations SET status = 'stashed', deactivated_at_utc = :now, mailbox_path = :mailbox_path,
  mailbox_entry_path = :mailbox_entry_path
WHERE registration_id = :registration_id;

-- stash_projections --
UPDATE mailbox_projections SET projection_path = :new || substr(projection_path, length(:old) + 1)
WHERE registration_id = :registration_id AND substr(projection_path, 1, length(:old) + 1) = :old || '/';

-- forget_projections --
DELETE FROM mailbox_projections WHERE registration_id = :registration_id;

-- forget_state --
DELETE FROM mailbox_state WHERE registration_id = :registration_id;

-- forget_replacements --
UPDATE mailbox_registrations SET replaced_by_registration_id = NULL
WHERE replaced_by_registration_id = :registration_id;

-- forget_sender --
UPDATE messages SET sender_registration_id = NULL WHERE sender_registration_id = :registration_id;

-- forget_recipient --
UPDATE message_recipients SET delivered_registration_id = NULL
WHERE delivered_registration_id = :registration_id;

-- forget_registration --
DELETE FROM mailbox_registrations WHERE registration_id = :registration_id;

-- put_message --
INSERT INTO messages VALUES (:message_id, :thread_id, :in_reply_to, :created_at_utc, :canonical_path, :subject,
  :body_markdown, :headers_json, :sender_principal_id, :sender_address, :sender_display_name,
  :sender_manifest_path_hint, :sender_role, :sender_registration_id);

-- put_recipient --
INSERT INTO message_recipients VALUES (:message_id, :recipient_kind, :ordinal, :address, :owner_principal_id,
  :display_name, :manifest_path_hint, :role, :delivered_registration_id);

-- put_attachment --
INSERT OR IGNORE INTO attachments
VALUES (:attachment_id, :kind, :locator, :media_type, :sha256, :size_bytes, :label);

-- link_attachment --
INSERT OR IGNORE INTO message_attachments VALUES (:message_id, :attachment_id, :ordinal);

-- put_projection --
INSERT OR REPLACE INTO mailbox_projections
VALUES (:registration_id, :message_id, :folder_name, :projection_path);

-- projections_of --
SELECT projection_path FROM mailbox_projections
WHERE registration_id = :registration_id AND message_id = :message_id;

-- drop_projections_of --
DELETE FROM mailbox_projections WHERE registration_id = :registration_id AND message_id = :message_id;

-- projected_in --
SELECT message_id, folder_name FROM mailbox_projections WHERE registration_id = :registration_id;

-- put_thread --
INSERT INTO thread_summaries VALUES (:thread_id, :normalized_subject, :message_id, :created_at_utc, 0)
ON CONFLICT (thread_id) DO UPDATE SET latest_message_id = :message_id,
  latest_message_created_at_utc = :created_at_utc
WHERE latest_message_created_at_utc <= :created_at_utc;

-- has_message --
SELECT 1 FROM messages WHERE message_id = :message_id;

-- message --
SELECT * FROM messages WHERE message_id = :message_id;

-- recipients --
SELECT * FROM message_recipients WHERE message_id = :message_id ORDER BY recipient_kind DESC, ordinal;

-- counts --
SELECT (SELECT count(*) FROM messages),
  (SELECT count(*) FROM mailbox_registrations WHERE status = 'active'),
  (SELECT count(*) FROM mailbox_registrations WHERE status = 'inactive'),
  (SELECT count(*) FROM mailbox_registrations WHERE status = 'stashed');

-- clear_state --
DELETE FROM mailbox_state;

-- clear_projections --
DELETE FROM mailbox_projections;

-- clear_messages --
-- Recipients and links to attachments go with them.
DELETE FROM messages;

-- clear_attachments --
DELETE FROM attachments;

-- clear_threads --
DELETE FROM thread_summaries;
