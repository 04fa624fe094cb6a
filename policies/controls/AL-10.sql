-- id: AL-10
-- title: The clocks of the log's times are right
-- tsc: CC7.2, PI1.2
-- iso: A.8.17
-- severity: 2
-- supports: your control that clocks are synchronised: no gateway's clock was seen to be more than a
--   second off a witness's or a time stamp authority's, and where witnesses are asked, each gateway
--   process compared its clock with theirs at least once an hour.
-- optional: without witnesses and a time stamp authority there is no other clock to compare with.
-- remediation: Find out how the machine gets its time (NTP, or chrony) and since when it was off: times of
--   the records in between are wrong by so much. A wrong clock may be the other one's: compare with
--   the records of other machines. A gateway that did not compare did not reach its witnesses.

-- population
SELECT w, seq, ts, ts_us, reason, clock_source, clock_id, clock_ahead_us, clock_behind_us, clock_off_us
FROM records
WHERE kind = 'clock.status';

-- exceptions
SELECT w, seq, ts, ts_us, 'the clock is more than a second off' AS reason
FROM records
WHERE kind = 'clock.status' AND clock_off_us > 1000000
UNION ALL
SELECT s.w, s.seq, s.ts, s.ts_us, 'not compared with a witness for more than an hour' AS reason
FROM records s
JOIN (SELECT w, max(ts_us) AS end_us FROM records GROUP BY w) e ON e.w = s.w
LEFT JOIN records n ON n.w = s.w AND n.kind = 'clock.status' AND n.clock_source = 'witness'
  AND n.ts_us <= s.ts_us + 3600000000
  AND (n.ts_us > s.ts_us OR (n.ts_us = s.ts_us AND n.seq > s.seq))
WHERE (s.kind = 'writer.open' OR (s.kind = 'clock.status' AND s.clock_source = 'witness'))
  AND e.end_us > s.ts_us + 3600000000
  AND n.seq IS NULL
  AND (SELECT count(*) FROM records WHERE kind = 'clock.status' AND clock_source = 'witness') > 0;
