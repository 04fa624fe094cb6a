-- id: AL-06
-- title: No request went on without the log
-- tsc: CC7.2, PI1.5
-- iso: A.8.15
-- severity: 2
-- supports: your control that actions are logged before they take effect: no gateway went on while its
--   log did not take records, and none ran in a mode that does not wait for the disk.
-- remediation: Find out why the log could not be written then, and what the gateway did meanwhile: the
--   records are in the log, later, but for those of a process that died. Take ledger.allow_degraded out,
--   and use the mode local or strict.

-- population
SELECT w, seq, kind, mode, ts_us
FROM records
WHERE kind = 'writer.open';

-- exceptions
SELECT w, seq, ts_us, reason
FROM records
WHERE kind = 'audit.degraded.enter'
UNION ALL
SELECT w, seq, ts_us, 'mode async' AS reason
FROM records
WHERE kind = 'writer.open' AND mode = 'async';
