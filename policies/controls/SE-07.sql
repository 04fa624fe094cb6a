-- id: SE-07
-- title: The records of every session are complete
-- tsc: PI1.5, CC7.2
-- iso: A.8.15
-- severity: 1
-- supports: your control that the record of a conversation is whole, across all replicas: its
--   records are numbered without a hole and each names the digest of the one before it. What a gap
--   that the log declares, or a stream that still runs, may explain is a gap and no exception.
-- remediation: Find the stream or segment that is missing; the gateway that held the session next
--   may have declared the gap. A chain that is broken without one was changed.

-- population
SELECT sid, min(ts_us) AS first_us, max(ts_us) AS last_us, count(*) AS n
FROM records
WHERE sid IS NOT NULL
GROUP BY sid;

-- exceptions
SELECT r.sid, min(r.ts_us) AS first_us, max(r.ts_us) AS last_us, 'records are missing' AS reason
FROM records r
WHERE r.sid IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM checks g WHERE g.name = 'gap' AND g.place = r.sid)
GROUP BY r.sid
HAVING count(*) <> max(r.sseq) + 1 OR count(DISTINCT r.sseq) <> count(*)
UNION ALL
SELECT place AS sid, first_us, last_us, detail AS reason
FROM checks
WHERE name = 'session' AND verdict = 'broken';
