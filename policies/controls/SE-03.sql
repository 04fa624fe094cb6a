-- id: SE-03
-- title: No request after a session's end
-- tsc: CC6.1, CC6.3
-- iso: A.8.5, A.5.18
-- severity: 1
-- supports: your control that access ends when a session expires, is closed or is revoked. Clocks of
--   replicas may differ by five seconds.
-- remediation: Find out why the session store let the turn begin; revoke the session and check the
--   clocks of the machines that run the gateway.

-- population
SELECT w, seq, ts, ts_us, rid, sid, sseq
FROM records
WHERE kind = 'exchange.admitted';

-- exceptions
SELECT a.w, a.seq, a.ts, a.ts_us, a.rid, a.sid, 'after the session expired' AS reason
FROM records a
JOIN records o ON o.sid = a.sid AND o.kind = 'session.open'
WHERE a.kind = 'exchange.admitted' AND a.ts_us > o.exp_us + 5000000
UNION ALL
SELECT a.w, a.seq, a.ts, a.ts_us, a.rid, a.sid, 'after the session was ended' AS reason
FROM records a
JOIN records c ON c.sid = a.sid
  AND c.kind IN ('session.close', 'session.expire', 'session.revoke', 'session.erase.request')
WHERE a.kind = 'exchange.admitted' AND a.sseq > c.sseq;
