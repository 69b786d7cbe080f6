-- Every statement sent to a mailbox's search index, with the mailbox itself attached as `box`.

-- schema --
CREATE TABLE IF NOT EXISTS known (number INTEGER PRIMARY KEY, message_id TEXT NOT NULL UNIQUE);
-- The words only: the texts themselves stay in the messages.
CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(
  subject, people, body, content = '', tokenize = 'unicode61 remove_diacritics 2'
);

-- counts --
SELECT (SELECT count(*) FROM known), (SELECT count(*) FROM box.message_state);

-- newest_is_known --
-- With equal counts, only a message that came while another went could hide; the newest tells.
SELECT 1 WHERE NOT EXISTS (SELECT 1 FROM box.message_state) OR EXISTS (
  SELECT 1 FROM known WHERE message_id = (SELECT message_id FROM box.message_state ORDER BY rowid DESC LIMIT 1));

-- missing --
SELECT message_id, created_at_utc FROM box.message_state
WHERE message_id NOT IN (SELECT message_id FROM known) ORDER BY rowid;

-- has_gone --
SELECT 1 FROM known WHERE message_id NOT IN (SELECT message_id FROM box.message_state) LIMIT 1;

-- forget --
DELETE FROM known;

-- forget_texts --
INSERT INTO texts (texts) VALUES ('delete-all');

-- put --
INSERT INTO known (message_id) VALUES (?);

-- put_text --
INSERT INTO texts (rowid, subject, people, body) VALUES (?, ?, ?, ?);

-- search --
-- A word in the subject weighs more than one in a long body.
SELECT s.message_id, s.thread_id, s.created_at_utc, s.is_read, s.is_answered, s.is_archived, s.box_name
FROM texts JOIN known ON known.number = texts.rowid
JOIN box.message_state AS s ON s.message_id = known.message_id
WHERE texts MATCH :query AND s.is_deleted = 0 AND (:box IS NULL OR s.box_name = :box)
ORDER BY bm25(texts, 5.0, 2.0, 1.0), s.created_at_utc DESC LIMIT :limit;
