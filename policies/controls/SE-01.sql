-- id: SE-01
-- title: Every exchange has an authenticated caller
-- tsc: CC6.1
-- iso: A.8.5, A.5.16
-- severity: 1
-- supports: your control that access to model providers needs an identity: each admitted request
--   names the pseudonym of its caller and of the credential that it presented.
-- remediation: Look up the request by its id, find the build that admitted it, and stop using that
--   build. Treat the exchange as unauthorised until the caller is known.

-- population
SELECT w, seq, ts, ts_us, rid, sid, prin, tok, tenant
FROM records
WHERE kind = 'exchange.admitted';

-- exceptions
SELECT w, seq, ts, ts_us, rid, sid, 'no authenticated caller' AS reason
FROM records
WHERE kind = 'exchange.admitted'
  AND (coalesce(prin, '') = '' OR coalesce(tok, '') = '' OR coalesce(tenant, '') = '');
