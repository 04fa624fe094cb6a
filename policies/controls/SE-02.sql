-- id: SE-02
-- title: A session belongs to one caller
-- tsc: CC6.1
-- iso: A.8.5, A.5.17
-- severity: 1
-- supports: your control that sessions cannot be taken over: every record of a session names the
--   same caller, and the same credential unless a refresh is recorded.
-- remediation: Revoke the session and the credentials involved, and read the session's records in
--   order to see what the second caller obtained.

-- population
SELECT sid, min(ts_us) AS first_us, max(ts_us) AS last_us, count(*) AS n
FROM records
WHERE sid IS NOT NULL
GROUP BY sid;

-- exceptions
SELECT sid, min(ts_us) AS first_us, max(ts_us) AS last_us, count(DISTINCT prin) AS callers,
  count(DISTINCT tok) AS credentials, 'more than one caller or credential' AS reason
FROM records
WHERE sid IS NOT NULL
GROUP BY sid
HAVING count(DISTINCT prin) > 1
  OR count(DISTINCT tenant) > 1
  OR (count(DISTINCT tok) > 1 AND sum(CASE WHEN kind = 'session.refresh' THEN 1 ELSE 0 END) = 0);
