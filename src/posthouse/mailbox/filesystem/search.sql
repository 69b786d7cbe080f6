-- Every statement sent to a mailbox's search index, with the mailbox itself attached as `box`.

-- schema --
-- `arrival` is the row's own number in the mailbox: what came later has a higher one.
CREATE TABLE IF NOT EXISTS known (
  number INTEGER PRIMARY KEY, message_id TEXT NOT NULL UNIQUE, arrival INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS known_by_arrival ON known (arrival);
-- The words only: the texts themselves stay in the messages.
CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5(
  subject, people, body, content = '', tokenize = 'unicode61 remove_diacritics 2'
);

-- newest_known --
-- The last arrival that is known, and whether it is still the same message: a mailbox that was made again
-- counts anew. Neither this nor `arrived` costs more in a full mailbox.
SELECT arrival, EXISTS (
  SELECT 1 FROM box.message_state AS s WHERE s.rowid = known.arrival AND s.message_id = known.message_id)
FROM known ORDER BY arrival DESC LIMIT 1;

-- arrived --
SELECT message_id, created_at_utc, rowid FROM box.message_state WHERE rowid > :after ORDER BY rowid;

-- missing --
SELECT message_id, created_at_utc, rowid FROM box.message_state
WHERE message_id NOT IN (SELECT message_id FROM known) ORDER BY rowid;

-- renumber --
UPDATE known SET arrival = (SELECT rowid FROM box.message_state AS s WHERE s.message_id = known.message_id);

-- has_gone --
SELECT 1 FROM known WHERE message_id NOT IN (SELECT message_id FROM box.message_state) LIMIT 1;

-- forget --
DELETE FROM known;

-- forget_texts --
INSERT INTO texts (texts) VALUES ('delete-all');

-- put --
INSERT INTO known (message_id, arrival) VALUES (?, ?);

-- put_text --
INSERT INTO texts (rowid, subject, people, body) VALUES (?, ?, ?, ?);

-- search --
-- A word in the subject weighs more than one in a long body.
SELECT s.message_id, s.thread_id, s.created_at_utc, s.is_read, s.is_answered, s.is_archived, s.box_name
FROM texts JOIN known ON known.number = texts.rowid
JOIN box.message_state AS s ON s.message_id = known.message_id
WHERE texts MATCH :query AND s.is_deleted = 0 AND (:box IS NULL OR s.box_name = :box)
ORDER BY bm25(texts, 5.0, 2.0, 1.0), s.created_at_utc DESC LIMIT :limit;
