-- id: RD-01
-- title: Every exchange was screened whole before it was sent
-- tsc: C1.1, CC6.7, P4, P6
-- iso: A.8.11, A.8.12, A.5.34
-- severity: 1
-- supports: your control that personal data and secrets are taken out of what leaves: each admitted
--   request carries a finished receipt that left no part unvisited, and nothing was settled that
--   was not admitted.
-- remediation: Stop the build that admitted the request, and have the provider delete what it was
--   sent if the session's payloads show that something left.

-- population
SELECT rid, min(ts_us) AS ts_us, min(sid) AS sid, count(*) AS n
FROM records
WHERE kind IN ('exchange.admitted', 'exchange.settled')
GROUP BY rid;

-- exceptions
SELECT rid, ts_us, sid, 'no finished receipt, or parts unvisited' AS reason
FROM records
WHERE kind = 'exchange.admitted'
  AND (coalesce(red_status, '') <> 'done' OR coalesce(red_unvisited, 1) > 0
    OR red_visited IS NULL OR red_out_h IS NULL)
UNION ALL
SELECT s.rid, s.ts_us, s.sid, 'settled and never admitted' AS reason
FROM records s
LEFT JOIN records a ON a.rid = s.rid AND a.kind = 'exchange.admitted'
WHERE s.kind = 'exchange.settled' AND a.rid IS NULL;
