-- Every statement the queue sends. `-- name --` starts one; the comment under it says why.

-- schema --
-- The contract's three tables, with exactly its columns: readers of the contract open this file.
-- Tables of ours are called posthouse_*.
CREATE TABLE IF NOT EXISTS gateway_requests (
  request_id TEXT PRIMARY KEY,
  request_kind TEXT NOT NULL,
  payload_json TEXT NOT NULL,
  state TEXT NOT NULL,
  accepted_at_utc TEXT NOT NULL,
  started_at_utc TEXT,
  finished_at_utc TEXT,
  managed_agent_instance_epoch INTEGER NOT NULL,
  error_detail TEXT,
  result_json TEXT
);
CREATE TABLE IF NOT EXISTS gateway_mail_notifier (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  enabled INTEGER NOT NULL DEFAULT 0,
  interval_seconds INTEGER,
  mode TEXT NOT NULL DEFAULT 'any_inbox' CHECK (mode IN ('any_inbox', 'unread_only')),
  appendix_text TEXT NOT NULL DEFAULT '',
  context_error_policy TEXT NOT NULL DEFAULT 'continue_current'
    CHECK (context_error_policy IN ('continue_current', 'clear_context')),
  pre_notification_context_action TEXT NOT NULL DEFAULT 'none'
    CHECK (pre_notification_context_action IN ('none', 'compact')),
  last_poll_at_utc TEXT,
  last_notification_at_utc TEXT,
  last_notified_digest TEXT,
  compacted_eligible_message_refs_json TEXT NOT NULL DEFAULT '[]',
  last_error TEXT,
  notify_block_render TEXT NOT NULL DEFAULT 'enabled'
    CHECK (notify_block_render IN ('enabled', 'disabled')),
  notify_block_auth_mode TEXT NOT NULL DEFAULT 'permissive-log'
    CHECK (notify_block_auth_mode IN ('permissive-log', 'required')),
  notify_block_auth_verifier TEXT NOT NULL DEFAULT 'none'
    CHECK (notify_block_auth_verifier IN ('none', 'shared-token')),
  notify_block_shared_tokens_json TEXT NOT NULL DEFAULT '[]',
  notify_block_per_message_chars INTEGER NOT NULL DEFAULT 512,
  notify_block_total_chars INTEGER NOT NULL DEFAULT 2048,
  updated_at_utc TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS gateway_notifier_audit (
  audit_id INTEGER PRIMARY KEY AUTOINCREMENT,
  poll_time_utc TEXT NOT NULL,
  unread_count INTEGER,
  unread_digest TEXT,
  unread_summary_json TEXT NOT NULL DEFAULT '[]',
  request_admission TEXT,
  active_execution TEXT,
  queue_depth INTEGER,
  outcome TEXT NOT NULL CHECK (outcome IN (
    'empty', 'dedup_skip', 'busy_skip', 'enqueued', 'pre_notification_context_error',
    'context_recovery_error', 'poll_error')),
  enqueued_request_id TEXT,
  detail TEXT,
  context_error_policy TEXT NOT NULL DEFAULT 'continue_current',
  pre_notification_context_action TEXT NOT NULL DEFAULT 'none',
  context_action_outcome TEXT,
  degraded_tool_name TEXT,
  degraded_error_type TEXT,
  rendered_block_entries_json TEXT NOT NULL DEFAULT '[]'
);
-- The order of arrival: the contract's times have whole seconds, and clocks jump.
CREATE TABLE IF NOT EXISTS posthouse_requests (
  sequence INTEGER PRIMARY KEY AUTOINCREMENT,
  request_id TEXT NOT NULL UNIQUE,
  is_open INTEGER NOT NULL DEFAULT 1,
  accepted_at_utc TEXT
);
-- Finding the oldest open request must not slow down with the history.
CREATE INDEX IF NOT EXISTS posthouse_open_requests ON posthouse_requests (sequence) WHERE is_open = 1;
-- Every agent instance this session has had. Work goes to the newest, once it is decided.
CREATE TABLE IF NOT EXISTS posthouse_instances (
  epoch INTEGER PRIMARY KEY,
  instance_id TEXT NOT NULL,
  observed_at_utc TEXT NOT NULL,
  decision TEXT
);

-- Old requests that were explicitly requeued for a newer instance. Their own rows keep the epoch they were
-- accepted for.
CREATE TABLE IF NOT EXISTS posthouse_replays (
  request_id TEXT PRIMARY KEY,
  epoch INTEGER NOT NULL
) WITHOUT ROWID;
-- Which headless turn carries out which request, on disk before the turn begins: a turn outlives its gateway.
CREATE TABLE IF NOT EXISTS posthouse_turns (
  request_id TEXT PRIMARY KEY,
  turn_id TEXT NOT NULL,
  outcome TEXT,
  ended_at_utc TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS posthouse_open_turns ON posthouse_turns (request_id) WHERE outcome IS NULL;
-- Prompts that went to the agent past the queue: direct ones and reminders. Their place in the order of
-- arrival is in posthouse_requests, like every request's.
CREATE TABLE IF NOT EXISTS posthouse_prompts (
  request_id TEXT PRIMARY KEY,
  request_kind TEXT NOT NULL,
  payload_json TEXT NOT NULL,
  managed_agent_instance_epoch INTEGER NOT NULL
) WITHOUT ROWID;
-- What every prompt has passed on its way after it was accepted.
CREATE TABLE IF NOT EXISTS posthouse_stages (
  request_id TEXT NOT NULL,
  stage TEXT NOT NULL,
  at_utc TEXT NOT NULL,
  detail_json TEXT NOT NULL DEFAULT '{}',
  PRIMARY KEY (request_id, stage)
) WITHOUT ROWID;
-- Which request was made under which idempotency key, and the response its caller got.
CREATE TABLE IF NOT EXISTS posthouse_keys (
  name TEXT PRIMARY KEY,
  fingerprint TEXT NOT NULL,
  request_id TEXT NOT NULL,
  made_at_utc TEXT NOT NULL,
  answer_json TEXT
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS posthouse_keys_by_age ON posthouse_keys (made_at_utc);

-- When mail wakes the agent beyond what the contract's record can say; one row, and none means the defaults.
CREATE TABLE IF NOT EXISTS posthouse_wake_settings (
  singleton INTEGER PRIMARY KEY CHECK (singleton = 1),
  wake TEXT NOT NULL,
  backoff_max_seconds INTEGER,
  operator_note_after INTEGER
);
-- For which messages the agent was woken, and how often.
CREATE TABLE IF NOT EXISTS posthouse_wakes (
  message_ref TEXT PRIMARY KEY,
  first_at_utc TEXT NOT NULL,
  last_at_utc TEXT NOT NULL,
  count INTEGER NOT NULL,
  is_noted INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;

-- columns --
SELECT name FROM pragma_table_info('posthouse_requests');

-- add_accepted_at --
-- For queues of before there were receipts.
ALTER TABLE posthouse_requests ADD COLUMN accepted_at_utc TEXT;

-- check_write --
-- A row that is removed again in the same transaction: its page is written, or the disk refuses it.
INSERT INTO posthouse_stages (request_id, stage, at_utc) VALUES ('', 'write check', '');

-- end_write_check --
DELETE FROM posthouse_stages WHERE request_id = '';

-- seed_notifier --
-- The contract's singleton exists, disabled, from the first moment.
INSERT OR IGNORE INTO gateway_mail_notifier (singleton, updated_at_utc) VALUES (1, :now);

-- adopt --
-- Rows that another implementation of the contract wrote have no place in the order yet.
INSERT INTO posthouse_requests (request_id, is_open)
SELECT request_id, state IN ('accepted', 'running') FROM gateway_requests
WHERE request_id NOT IN (SELECT request_id FROM posthouse_requests)
ORDER BY gateway_requests.accepted_at_utc, gateway_requests.rowid;

-- running --
-- Only open requests are looked at: the history may be long.
SELECT request_id FROM posthouse_requests JOIN gateway_requests USING (request_id)
WHERE is_open = 1 AND state = 'running' ORDER BY sequence;

-- fail --
-- An end that no execution brought about: discarded, refused, or running when the process died.
UPDATE gateway_requests SET state = 'failed', finished_at_utc = :now, error_detail = :error
WHERE request_id = :request_id AND state IN ('accepted', 'running');

-- close_finished --
UPDATE posthouse_requests SET is_open = 0
WHERE is_open = 1 AND request_id NOT IN (
  SELECT request_id FROM gateway_requests WHERE state IN ('accepted', 'running'));

-- count --
SELECT count(*) FILTER (WHERE state = 'accepted'), count(*) FILTER (WHERE state = 'running')
FROM posthouse_requests JOIN gateway_requests USING (request_id) WHERE is_open = 1;

-- put --
INSERT INTO gateway_requests (
  request_id, request_kind, payload_json, state, accepted_at_utc, started_at_utc,
  managed_agent_instance_epoch)
VALUES (:request_id, :kind, :payload, :state, :now, :started, :epoch);

-- put_order --
INSERT INTO posthouse_requests (request_id, accepted_at_utc) VALUES (:request_id, :at);

-- accepted --
-- From the oldest on, whatever its epoch: a later one never overtakes it. Read row by row, as far as needed.
-- As bytes: another program may have written text that is not UTF-8, and one such row must not hide the rest.
SELECT sequence, request_id, CAST(request_kind AS BLOB), CAST(payload_json AS BLOB), state, managed_agent_instance_epoch,
  coalesce(posthouse_replays.epoch, managed_agent_instance_epoch)
FROM posthouse_requests JOIN gateway_requests USING (request_id)
  LEFT JOIN posthouse_replays USING (request_id)
WHERE is_open = 1 AND state = 'accepted' ORDER BY sequence;

-- accepted_ids --
SELECT request_id FROM posthouse_requests JOIN gateway_requests USING (request_id)
WHERE is_open = 1 AND state = 'accepted' ORDER BY sequence;

-- claim --
-- The UPDATE is the lock: a row is taken once.
UPDATE gateway_requests SET state = 'running', started_at_utc = :now
WHERE request_id = :request_id AND state = 'accepted';

-- coalesce --
UPDATE gateway_requests SET state = 'coalesced', finished_at_utc = :now, result_json = :result
WHERE request_id = :request_id AND state = 'accepted';

-- release --
-- Nothing of it reached the agent, so it may be tried again; it keeps its place in the order.
UPDATE gateway_requests SET state = 'accepted', started_at_utc = NULL
WHERE request_id = :request_id AND state = 'running';

-- kind_of_running --
SELECT request_kind FROM gateway_requests WHERE request_id = :request_id AND state = 'running';

-- finish --
UPDATE gateway_requests
SET state = :state, finished_at_utc = :now, error_detail = :error, result_json = :result
WHERE request_id = :request_id AND state = 'running';

-- finish_order --
UPDATE posthouse_requests SET is_open = 0 WHERE request_id = :request_id;

-- newest_instance --
SELECT epoch, instance_id, decision FROM posthouse_instances ORDER BY epoch DESC LIMIT 1;

-- add_instance --
INSERT INTO posthouse_instances (epoch, instance_id, observed_at_utc, decision)
VALUES (:epoch, :instance_id, :now, :decision);

-- decide --
UPDATE posthouse_instances SET decision = :decision WHERE epoch = :epoch AND decision IS NULL;

-- replay --
INSERT INTO posthouse_replays (request_id, epoch) VALUES (:request_id, :epoch)
ON CONFLICT (request_id) DO UPDATE SET epoch = excluded.epoch;

-- link_turn --
-- A request that went back in line and is taken again begins another turn.
INSERT INTO posthouse_turns (request_id, turn_id) VALUES (:request_id, :turn_id)
ON CONFLICT (request_id) DO UPDATE SET turn_id = excluded.turn_id, outcome = NULL, ended_at_utc = NULL;

-- unlink_turn --
DELETE FROM posthouse_turns WHERE request_id = :request_id;

-- end_turn --
UPDATE posthouse_turns SET outcome = :outcome, ended_at_utc = :now
WHERE request_id = :request_id AND outcome IS NULL;

-- open_turns --
SELECT request_id, turn_id FROM posthouse_turns WHERE outcome IS NULL;

-- explain --
-- What was found out later about a request that failed when its gateway went away.
UPDATE gateway_requests SET error_detail = error_detail || :more
WHERE request_id = :request_id AND state = 'failed';

-- oldest_kept --
-- The sequence below which requests are beyond the newest :keep finished ones; none when there are fewer.
SELECT sequence FROM posthouse_requests WHERE is_open = 0 ORDER BY sequence DESC LIMIT 1 OFFSET :keep - 1;

-- prunable --
-- Finished requests beyond the newest :many, and those beyond the newest :few that ended before :before.
-- What went past the queue has no row to say when; its last stage does.
SELECT request_id FROM posthouse_requests LEFT JOIN gateway_requests USING (request_id)
WHERE is_open = 0 AND (sequence < :many OR (sequence < :few AND coalesce(finished_at_utc, (
  SELECT max(at_utc) FROM posthouse_stages WHERE request_id = posthouse_requests.request_id),
  posthouse_requests.accepted_at_utc) < :before))
ORDER BY sequence LIMIT :batch;

-- prune_request --
DELETE FROM gateway_requests WHERE request_id = :request_id AND state NOT IN ('accepted', 'running');

-- prune_order --
DELETE FROM posthouse_requests WHERE request_id = :request_id AND is_open = 0;

-- prune_replay --
DELETE FROM posthouse_replays WHERE request_id = :request_id;

-- prune_audit --
-- One row for each poll of the notifier; the newest tell what matters. Only the oldest few are looked at.
DELETE FROM gateway_notifier_audit WHERE audit_id IN (
  SELECT audit_id FROM (
    SELECT audit_id, poll_time_utc FROM gateway_notifier_audit ORDER BY audit_id LIMIT :batch)
  WHERE audit_id <= (SELECT max(audit_id) FROM gateway_notifier_audit) - :many
    OR (audit_id <= (SELECT max(audit_id) FROM gateway_notifier_audit) - :few AND poll_time_utc < :before));

-- error_of --
SELECT error_detail FROM gateway_requests WHERE request_id = :request_id;

-- state_of --
SELECT state FROM gateway_requests WHERE request_id = :request_id;

-- free_pages --
PRAGMA freelist_count;

-- give_back --
-- One page: the sqlite3 module takes the first page for the end of the statement.
PRAGMA incremental_vacuum(1);

-- open_turn_id --
-- The turn of the oldest open prompt that has one: begun already, or named by its caller.
SELECT coalesce(posthouse_turns.turn_id, CASE WHEN json_valid(payload_json) THEN json_extract(payload_json, '$.turn_id') END) AS turn
FROM posthouse_requests JOIN gateway_requests USING (request_id) LEFT JOIN posthouse_turns USING (request_id)
WHERE is_open = 1 AND request_kind <> 'interrupt' AND turn IS NOT NULL ORDER BY sequence LIMIT 1;

-- stage --
-- The first row counts: a later duplicate adds nothing.
INSERT OR IGNORE INTO posthouse_stages (request_id, stage, at_utc, detail_json)
VALUES (:request_id, :stage, :at, :detail);

-- last_stage --
-- An end, or that nothing is known, unless there is a proven end already.
INSERT OR IGNORE INTO posthouse_stages (request_id, stage, at_utc, detail_json)
SELECT :request_id, :stage, :at, :detail WHERE NOT EXISTS (
  SELECT 1 FROM posthouse_stages WHERE request_id = :request_id
    AND stage IN ('completed', 'failed', 'interrupted', 'cancelled', 'coalesced'));

-- unstart --
DELETE FROM posthouse_stages WHERE request_id = :request_id AND stage = 'started';

-- put_prompt --
INSERT INTO posthouse_prompts (request_id, request_kind, payload_json, managed_agent_instance_epoch)
VALUES (:request_id, :kind, :payload, :epoch);

-- close_prompt --
-- Only what went past the queue: a request's own row says when that is over.
UPDATE posthouse_requests SET is_open = 0
WHERE request_id = :request_id AND EXISTS (
  SELECT 1 FROM posthouse_prompts WHERE request_id = :request_id);

-- is_open --
SELECT is_open FROM posthouse_requests WHERE request_id = :request_id;

-- open_prompts --
SELECT request_id, EXISTS (
  SELECT 1 FROM posthouse_stages
  WHERE request_id = posthouse_requests.request_id AND stage = 'started')
FROM posthouse_requests JOIN posthouse_prompts USING (request_id) WHERE is_open = 1 ORDER BY sequence;

-- receipt --
SELECT sequence, request_id,
  CAST(coalesce(gateway_requests.request_kind, posthouse_prompts.request_kind) AS BLOB),
  CAST(coalesce(gateway_requests.payload_json, posthouse_prompts.payload_json) AS BLOB),
  coalesce(gateway_requests.managed_agent_instance_epoch, posthouse_prompts.managed_agent_instance_epoch),
  coalesce(posthouse_requests.accepted_at_utc, gateway_requests.accepted_at_utc), state, error_detail,
  turn_id
FROM posthouse_requests
  LEFT JOIN gateway_requests USING (request_id)
  LEFT JOIN posthouse_prompts USING (request_id)
  LEFT JOIN posthouse_turns USING (request_id)
WHERE request_id = :request_id AND coalesce(gateway_requests.request_id, posthouse_prompts.request_id) IS NOT NULL;

-- receipts --
-- Newest first, below the sequence where the last page ended.
SELECT sequence, request_id,
  CAST(coalesce(gateway_requests.request_kind, posthouse_prompts.request_kind) AS BLOB),
  CAST(coalesce(gateway_requests.payload_json, posthouse_prompts.payload_json) AS BLOB),
  coalesce(gateway_requests.managed_agent_instance_epoch, posthouse_prompts.managed_agent_instance_epoch),
  coalesce(posthouse_requests.accepted_at_utc, gateway_requests.accepted_at_utc), state, error_detail,
  turn_id
FROM posthouse_requests
  LEFT JOIN gateway_requests USING (request_id)
  LEFT JOIN posthouse_prompts USING (request_id)
  LEFT JOIN posthouse_turns USING (request_id)
WHERE sequence < :before AND coalesce(gateway_requests.request_id, posthouse_prompts.request_id) IS NOT NULL
ORDER BY sequence DESC LIMIT :batch;

-- stages_of --
SELECT request_id, stage, at_utc, detail_json FROM posthouse_stages WHERE request_id = :request_id;

-- stages_below --
SELECT request_id, stage, at_utc, detail_json FROM posthouse_stages WHERE request_id IN (
  SELECT request_id FROM posthouse_requests WHERE sequence < :before ORDER BY sequence DESC LIMIT :batch);

-- unended --
-- Given to the agent, and no end was seen. Only the newest are worth a look.
SELECT request_id FROM (SELECT sequence, request_id FROM posthouse_requests ORDER BY sequence DESC LIMIT :batch)
  JOIN posthouse_stages USING (request_id)
GROUP BY sequence, request_id
HAVING max(stage = 'started') = 1
  AND max(stage IN ('completed', 'failed', 'interrupted', 'cancelled', 'coalesced')) = 0
ORDER BY sequence;

-- find_key --
SELECT fingerprint, request_id, answer_json FROM posthouse_keys
WHERE name = :name AND made_at_utc > :oldest;

-- put_key --
INSERT OR REPLACE INTO posthouse_keys (name, fingerprint, request_id, made_at_utc, answer_json)
VALUES (:name, :fingerprint, :request_id, :now, :answer);

-- answer_key --
UPDATE posthouse_keys SET answer_json = :answer WHERE name = :name AND fingerprint = :fingerprint;

-- expire_keys --
DELETE FROM posthouse_keys WHERE name IN (
  SELECT name FROM posthouse_keys WHERE made_at_utc <= :oldest ORDER BY made_at_utc LIMIT :batch);

-- prune_keys --
DELETE FROM posthouse_keys WHERE name IN (
  SELECT name FROM posthouse_keys ORDER BY made_at_utc
  LIMIT min(:batch, max(0, (SELECT count(*) FROM posthouse_keys) - :keep)));

-- prune_prompt --
DELETE FROM posthouse_prompts WHERE request_id = :request_id;

-- prune_stages --
DELETE FROM posthouse_stages WHERE request_id = :request_id;

-- notifier --
SELECT enabled, interval_seconds, mode, appendix_text, context_error_policy, pre_notification_context_action,
  notify_block_render, notify_block_auth_mode, notify_block_auth_verifier, notify_block_shared_tokens_json,
  notify_block_per_message_chars, notify_block_total_chars, last_poll_at_utc, last_notification_at_utc,
  last_notified_digest, compacted_eligible_message_refs_json, last_error, updated_at_utc
FROM gateway_mail_notifier WHERE singleton = 1;

-- keep_notifier --
UPDATE gateway_mail_notifier SET enabled = :enabled, interval_seconds = :interval_seconds, mode = :mode,
  appendix_text = :appendix_text, context_error_policy = :context_error_policy,
  pre_notification_context_action = :pre_notification_context_action,
  notify_block_render = :notify_block_render, notify_block_auth_mode = :notify_block_auth_mode,
  notify_block_auth_verifier = :notify_block_auth_verifier,
  notify_block_shared_tokens_json = :notify_block_shared_tokens_json,
  notify_block_per_message_chars = :notify_block_per_message_chars,
  notify_block_total_chars = :notify_block_total_chars, updated_at_utc = :now
WHERE singleton = 1;

-- disable_notifier --
UPDATE gateway_mail_notifier SET enabled = 0, interval_seconds = NULL, updated_at_utc = :now WHERE singleton = 1;

-- polled --
-- What a poll found out; the settings are whatever they have become meanwhile.
UPDATE gateway_mail_notifier SET last_poll_at_utc = :now, last_error = :error WHERE singleton = 1;

-- notified --
UPDATE gateway_mail_notifier SET last_notification_at_utc = :now, last_notified_digest = :digest
WHERE singleton = 1;

-- compacted --
UPDATE gateway_mail_notifier SET compacted_eligible_message_refs_json = :refs WHERE singleton = 1;

-- audit --
INSERT INTO gateway_notifier_audit (poll_time_utc, unread_count, unread_digest, unread_summary_json,
  request_admission, active_execution, queue_depth, outcome, enqueued_request_id, detail, context_error_policy,
  pre_notification_context_action, context_action_outcome, degraded_tool_name, degraded_error_type,
  rendered_block_entries_json)
VALUES (:now, :unread_count, :unread_digest, :unread_summary_json, :request_admission, :active_execution,
  :queue_depth, :outcome, :enqueued_request_id, :detail, :context_error_policy,
  :pre_notification_context_action, :context_action_outcome, :degraded_tool_name, :degraded_error_type,
  :rendered_block_entries_json);

-- wake_settings --
SELECT wake, backoff_max_seconds, operator_note_after FROM posthouse_wake_settings WHERE singleton = 1;

-- keep_wake_settings --
INSERT INTO posthouse_wake_settings (singleton, wake, backoff_max_seconds, operator_note_after)
VALUES (1, :wake, :backoff_max_seconds, :operator_note_after)
ON CONFLICT (singleton) DO UPDATE SET wake = excluded.wake,
  backoff_max_seconds = excluded.backoff_max_seconds, operator_note_after = excluded.operator_note_after;

-- woken --
INSERT INTO posthouse_wakes (message_ref, first_at_utc, last_at_utc, count) VALUES (:message_ref, :now, :now, 1)
ON CONFLICT (message_ref) DO UPDATE SET last_at_utc = excluded.last_at_utc, count = count + 1;

-- wakes_of --
SELECT message_ref, first_at_utc, last_at_utc, count, is_noted FROM posthouse_wakes
WHERE message_ref = :message_ref;

-- noted --
UPDATE posthouse_wakes SET is_noted = 1 WHERE message_ref = :message_ref;

-- forget_wakes --
-- Mail without a wake-up for a long time is pruned.
DELETE FROM posthouse_wakes WHERE last_at_utc < :before;
