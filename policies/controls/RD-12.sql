-- id: RD-12
-- title: The log holds no text, secret or wrapped key
-- tsc: C1.1, P4
-- iso: A.8.11, A.5.34
-- severity: 1
-- supports: your control that records which cannot be deleted hold no personal data: every string of
--   every record was held to the grammar of names and digests and searched for secrets.
-- remediation: The record cannot be taken out of a locked store. Find the field that let text in,
--   stop the build that wrote it, and restrict who may read the log.

-- population
SELECT w, seq, ts, ts_us, kind
FROM records;

-- exceptions
SELECT place, first_us, last_us, detail AS reason
FROM checks
WHERE name = 'lint' AND verdict = 'broken';
