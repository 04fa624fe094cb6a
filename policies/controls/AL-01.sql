-- id: AL-01
-- title: Every stored part of the log verifies
-- tsc: CC7.2, CC2.1, PI1.5
-- iso: A.8.15, A.5.33
-- severity: 1
-- supports: your control that audit logs are protected against change: each segment's records,
--   Merkle root and signed checkpoint were recomputed from its bytes.
-- remediation: Keep the broken object as it is, compare it with a replica or an earlier copy, and
--   find out who could write to the store. Do not rely on the log behind the break.

-- population
SELECT place, name, verdict, first_us, last_us
FROM checks
WHERE name IN ('segment', 'object');

-- exceptions
SELECT place, name, first_us, last_us, detail AS reason
FROM checks
WHERE name IN ('segment', 'object') AND verdict = 'broken';
