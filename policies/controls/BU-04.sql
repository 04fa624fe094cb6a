-- id: BU-04
-- title: Every exchange that began has an outcome
-- tsc: PI1.3, PI1.5
-- iso: A.8.15
-- severity: 2
-- supports: your control that processing is recorded to its end: each admitted request was settled
--   within the time that its record gives it (limit_us; 10 minutes in logs from before that field) and 5
--   minutes more.
-- remediation: A process that died leaves such requests; compare with its restarts. The provider may
--   have answered and charged for them.

-- population
SELECT w, seq, ts, ts_us, rid, sid
FROM records
WHERE kind = 'exchange.admitted';

-- exceptions
SELECT a.w, a.seq, a.ts, a.ts_us, a.rid, a.sid, 'no outcome' AS reason
FROM records a
LEFT JOIN records s ON s.rid = a.rid AND s.kind = 'exchange.settled'
WHERE a.kind = 'exchange.admitted' AND s.rid IS NULL
  AND a.ts_us + coalesce(a.limit_us, 600000000) + 300000000 < (SELECT max(ts_us) FROM records);
