-- Every statement sent to a mailbox.sqlite. `-- name --` starts one; the comment under it says why.
-- `{box}` is the name under which the file is open: `main`, or an attached one.

-- schema --
-- The contract's tables. The index is ours: every program that writes the file maintains it, and a listing of ten costs the same
-- among a hundred messages and among a hundred thousand. A row's own number, which every SQLite index holds, is
-- the order of arrival: the contract's times have whole seconds.
CREATE TABLE IF NOT EXISTS message_state (
  message_id TEXT PRIMARY KEY,
  thread_id TEXT NOT NULL,
  created_at_utc TEXT NOT NULL,
  subject TEXT NOT NULL,
  is_read INTEGER NOT NULL DEFAULT 0,
  is_answered INTEGER NOT NULL DEFAULT 0,
  is_starred INTEGER NOT NULL DEFAULT 0,
  is_archived INTEGER NOT NULL DEFAULT 0,
  is_deleted INTEGER NOT NULL DEFAULT 0,
  box_name TEXT NOT NULL DEFAULT 'inbox'
);
CREATE INDEX IF NOT EXISTS idx_message_state_thread_id ON message_state(thread_id);
CREATE INDEX IF NOT EXISTS posthouse_message_state_box
  ON message_state(box_name, is_deleted, is_read, created_at_utc);
CREATE INDEX IF NOT EXISTS posthouse_message_state_time ON message_state(box_name, is_deleted, created_at_utc);
CREATE TABLE IF NOT EXISTS thread_summaries (
  thread_id TEXT PRIMARY KEY,
  normalized_subject TEXT NOT NULL,
  latest_message_id TEXT NOT NULL,
  latest_message_created_at_utc TEXT NOT NULL,
  unread_count INTEGER NOT NULL DEFAULT 0
);

-- is_complete --
SELECT 1 FROM sqlite_master WHERE name = 'posthouse_message_state_time';

-- put --
INSERT OR IGNORE INTO {box}.message_state
  (message_id, thread_id, created_at_utc, subject, is_read, is_archived, box_name)
VALUES (:message_id, :thread_id, :created_at_utc, :subject, :is_read, :is_archived, :box_name);

-- put_thread --
-- A message that comes again changes nothing; one that is newer becomes the latest.
INSERT INTO {box}.thread_summaries
VALUES (:thread_id, :normalized_subject, :message_id, :created_at_utc, 0)
ON CONFLICT (thread_id) DO UPDATE SET latest_message_id = :message_id,
  latest_message_created_at_utc = :created_at_utc
WHERE latest_message_created_at_utc <= :created_at_utc;

-- count_thread --
UPDATE {box}.thread_summaries SET unread_count =
  (SELECT count(*) FROM {box}.message_state WHERE thread_id = :thread_id AND is_read = 0)
WHERE thread_id = :thread_id;

-- state --
SELECT message_id, thread_id, created_at_utc, is_read, is_answered, is_archived, box_name
FROM {box}.message_state WHERE message_id = :message_id AND is_deleted = 0;

-- listing --
SELECT message_id, thread_id, created_at_utc, is_read, is_answered, is_archived, box_name
FROM {box}.message_state
WHERE box_name = :box AND is_deleted = 0 AND created_at_utc >= :since {filters}
ORDER BY created_at_utc DESC, rowid DESC LIMIT :limit;

-- thread --
SELECT message_id, thread_id, created_at_utc, is_read, is_answered, is_archived, box_name
FROM {box}.message_state WHERE thread_id = :thread_id AND is_deleted = 0
ORDER BY created_at_utc DESC, rowid DESC LIMIT :limit;

-- change --
UPDATE {box}.message_state SET is_read = coalesce(:is_read, is_read),
  is_answered = coalesce(:is_answered, is_answered), is_starred = coalesce(:is_starred, is_starred),
  is_deleted = coalesce(:is_deleted, is_deleted)
WHERE message_id = :message_id;

-- move --
UPDATE {box}.message_state SET box_name = :box_name, is_archived = :is_archived,
  is_read = CASE WHEN :is_archived THEN 1 ELSE is_read END
WHERE message_id = :message_id;

-- boxes --
SELECT box_name, count(*), sum(is_read = 0) FROM {box}.message_state WHERE is_deleted = 0 GROUP BY box_name;

-- clear --
DELETE FROM {box}.message_state;

-- clear_threads --
DELETE FROM {box}.thread_summaries;
