-- id: SE-05
-- title: Every session id was made by a gateway
-- tsc: CC6.1, CC6.6
-- iso: A.8.5, A.8.26
-- severity: 1
-- supports: your control that session identifiers cannot be chosen by callers: each session begins
--   with the gateway's own record, and its reference has the form that the gateway makes.
-- remediation: Treat the session as forged. Revoke it, and find the component that let an id from
--   outside through.

-- population
SELECT sid, min(ts_us) AS first_us, max(ts_us) AS last_us, count(*) AS n
FROM records
WHERE sid IS NOT NULL
GROUP BY sid;

-- exceptions
SELECT sid, min(ts_us) AS first_us, max(ts_us) AS last_us,
  'not opened by a gateway, or a reference of another form' AS reason
FROM records
WHERE sid IS NOT NULL
GROUP BY sid
HAVING sum(CASE WHEN kind = 'session.open' AND sseq = 0 THEN 1 ELSE 0 END) <> 1
  OR length(sid) <> 28
  OR substr(sid, 1, 2) <> 's_'
  OR lower(sid) <> sid;
