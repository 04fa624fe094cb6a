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
SELECT r.sid, min(r.ts_us) AS first_us, max(r.ts_us) AS last_us,
  'not opened by a gateway, or a reference of another form' AS reason
FROM records r
WHERE r.sid IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM checks g WHERE g.name = 'gap' AND g.place = r.sid)
GROUP BY r.sid
HAVING sum(CASE WHEN r.kind = 'session.open' AND r.sseq = 0 THEN 1 ELSE 0 END) <> 1
  OR length(r.sid) <> 28
  OR substr(r.sid, 1, 2) <> 's_'
  OR lower(r.sid) <> r.sid;
