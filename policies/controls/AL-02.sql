-- id: AL-02
-- title: No stream of the log has a hole
-- tsc: CC2.1, PI1.5
-- iso: A.8.15
-- severity: 1
-- supports: your control that the population of logged events is complete: the records of each
--   gateway process are numbered without a hole from its first.
-- remediation: Find the missing segments in a replica or in the write-ahead log of the process that
--   wrote the stream. What cannot be found is missing from every other population too.

-- population
SELECT place, verdict, detail, first_us, last_us
FROM checks
WHERE name = 'stream';

-- exceptions
SELECT place, first_us, last_us, detail AS reason
FROM checks
WHERE name = 'stream' AND verdict = 'broken'
UNION ALL
SELECT w AS place, min(ts_us) AS first_us, max(ts_us) AS last_us, 'records are missing' AS reason
FROM records
GROUP BY w
HAVING count(*) <> max(seq) + 1;
