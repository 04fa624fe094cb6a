-- id: RD-02
-- title: Nothing was sent after a search that failed
-- tsc: C1.1, PI1.3
-- iso: A.8.12
-- severity: 1
-- supports: your control that screening fails closed: where the search did not finish, no provider
--   was tried.
-- remediation: Treat what was sent as not screened. Find out why the gateway went on, and stop the
--   build that did.

-- population
SELECT w, seq, ts, ts_us, rid, sid, red_status
FROM records
WHERE kind = 'exchange.admitted';

-- exceptions
SELECT a.w, a.seq, a.ts, a.ts_us, a.rid, a.sid, 'sent although the search did not finish' AS reason
FROM records a
JOIN records s ON s.rid = a.rid AND s.kind = 'exchange.settled'
WHERE a.kind = 'exchange.admitted'
  AND coalesce(a.red_status, '') <> 'done'
  AND (coalesce(s.attempts, 1) > 0 OR s.up_status IS NOT NULL);
