-- id: KM-03
-- title: Session state is sealed under a key of its own
-- tsc: CC6.1, C1.1
-- iso: A.8.24
-- severity: 1
-- supports: your control that stored data is encrypted: each record that goes with a write of session
--   state names the key and its commitment, and AES-256-GCM.
-- remediation: Find out what was written without a seal and destroy it; stop the build that did.

-- population
SELECT w, seq, ts, ts_us, kind, sid, st_kid, st_alg
FROM records
WHERE kind IN ('session.open', 'exchange.admitted');

-- exceptions
SELECT w, seq, ts, ts_us, kind, sid, 'no key, no commitment, or another algorithm' AS reason
FROM records
WHERE kind IN ('session.open', 'exchange.admitted')
  AND (coalesce(st_kid, '') = '' OR coalesce(st_kc, '') = '' OR coalesce(st_alg, '') <> 'A256GCM');
