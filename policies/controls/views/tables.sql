-- The three views that controls read. The auditor fills them from a log that it verified; SQLite and
-- DuckDB take this file as it is. Text and 64-bit integers only. A field of a record that has no
-- column here gets one when the auditor meets it.

-- One row a record: every scalar of the record and its event, under the names of the keys that lead
-- to it.
CREATE TABLE records (
  w TEXT, seq BIGINT, ts TEXT, ts_us BIGINT, mono_us BIGINT, v BIGINT,
  kind TEXT, rid TEXT, sid TEXT, run TEXT, trace TEXT, sseq BIGINT, sprev TEXT,
  prin TEXT, tok TEXT, tenant TEXT, agent TEXT, src_ip_h TEXT, src_edge_ids BIGINT,
  policy TEXT, build TEXT, cfg TEXT, witnesses BIGINT, authorities BIGINT, seals TEXT,
  red_status TEXT, red_visited BIGINT, red_checked BIGINT, red_skipped BIGINT, red_unvisited BIGINT,
  red_rules TEXT, red_model TEXT, red_in_h TEXT, red_out_h TEXT,
  budget_reserved_tokens BIGINT, budget_settled_tokens BIGINT, budget_basis TEXT, budget_missing_tokens BIGINT,
  budget_reserved_uusd BIGINT, budget_settled_uusd BIGINT,
  up_provider TEXT, up_api TEXT, up_model TEXT, up_region TEXT, up_key_id TEXT,
  st_kid TEXT, st_kc TEXT, st_alg TEXT,
  status BIGINT, up_status BIGINT, ending TEXT, attempts BIGINT,
  use_in_tokens BIGINT, use_out_tokens BIGINT, use_cache_read_tokens BIGINT,
  use_cache_write_tokens BIGINT, use_reasoning_tokens BIGINT, use_cost_uusd BIGINT,
  reply_visited BIGINT, reply_unresolved BIGINT, up_h TEXT, duration_us BIGINT,
  code TEXT, blame TEXT, label TEXT, rule TEXT, exp_us BIGINT, missing BIGINT,
  reason TEXT, n BIGINT, window_us BIGINT, epoch BIGINT, name TEXT, rules TEXT, version TEXT,
  action TEXT, target TEXT, state TEXT, cut BIGINT, deployment TEXT, mode TEXT,
  waiting BIGINT, refused BIGINT, unlogged BIGINT, limit_us BIGINT, continuity TEXT, absent_reason TEXT, absent_session TEXT, absent_owner TEXT,
  change_from TEXT, change_to TEXT, change_mark TEXT, change_version BIGINT, change_n BIGINT, change_bytes BIGINT,
  change_name_h TEXT, change_text_h TEXT, phase_from TEXT, phase_to TEXT,
  outside_session TEXT, since_us BIGINT, recovery_us BIGINT, store_sseq BIGINT, log_sseq BIGINT,
  prompt_n BIGINT, prompt_system_h TEXT, prompt_tools_h TEXT, prompt_rest_h TEXT,
  unstored TEXT, export_what TEXT, export_by TEXT, export_name TEXT, export_purpose TEXT, export_trust TEXT,
  export_session TEXT, export_request TEXT, export_digest TEXT, export_from_us BIGINT, export_to_us BIGINT,
  export_records BIGINT, export_sessions BIGINT, export_payloads BIGINT,
  part BIGINT, parts BIGINT, text TEXT,
  hold_by TEXT, hold_reason TEXT, hold_since_us BIGINT,
  clock_source TEXT, clock_id TEXT, clock_ahead_us BIGINT, clock_behind_us BIGINT, clock_off_us BIGINT, clock_n BIGINT
);

-- One row a count of a label in a record: red_found, reply_masked, reply_restored_text,
-- reply_restored_tool.
CREATE TABLE labels (w TEXT, seq BIGINT, place TEXT, label TEXT, n BIGINT);

-- What the verifier and the lints say, and the time that it is about. Names: segment, object, stream,
-- session, lint, gap.
CREATE TABLE checks (
  name TEXT, place TEXT, verdict TEXT, detail TEXT, first_us BIGINT, last_us BIGINT
);
