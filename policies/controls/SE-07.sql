-- id: SE-07
-- title: The records of every session are complete
-- tsc: PI1.5, CC7.2
-- iso: A.8.15
-- severity: 1
-- supports: your control that the record of a conversation is whole, across all replicas: its
--   records are numbered without a hole and each names the digest of the one before it.
-- remediation: Find the stream or segment that is missing; the gateway that held the session next
--   may have declared the gap. A chain that is broken without one was changed.

-- population
SELECT sid, min(ts_us) AS first_us, max(ts_us) AS last_us, count(*) AS n
FROM records
WHERE sid IS NOT NULL
GROUP BY sid;

-- exceptions
SELECT sid, min(ts_us) AS first_us, max(ts_us) AS last_us, 'records are missing' AS reason
FROM records
WHERE sid IS NOT NULL
GROUP BY sid
HAVING count(*) <> max(sseq) + 1 OR count(DISTINCT sseq) <> count(*)
UNION ALL
SELECT place AS sid, first_us, last_us, detail AS reason
FROM checks
WHERE name = 'session' AND verdict = 'broken';
