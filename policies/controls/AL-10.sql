-- id: AL-10
-- title: The clocks of the log's times are right
-- tsc: CC7.2, PI1.2
-- iso: A.8.17
-- severity: 2
-- supports: your control that clocks are synchronised: no gateway's clock was seen to be more than a
--   second off a witness's or a time stamp authority's, and where witnesses are configured, each
--   gateway process compared its clock with theirs at least once an hour.
-- optional: without witnesses and a time stamp authority there is no other clock to compare with.
-- remediation: Find out how the machine gets its time (NTP, or chrony) and since when it was off: times of
--   the records in between are wrong by so much. A wrong clock may be the other one's: compare with
--   the records of other machines. A gateway that did not compare did not reach its witnesses.

-- population
SELECT w, seq, ts, ts_us AS first_us, ts_us AS last_us, reason, clock_source, clock_id, clock_ahead_us,
  clock_behind_us, clock_off_us
FROM records
WHERE kind = 'clock.status';

-- exceptions
WITH declared AS (
  SELECT o.w, max(c.ts_us) AS at_us
  FROM records o
  JOIN records c ON c.kind = 'config.snapshot' AND (c.w = o.w OR c.ts_us <= o.ts_us)
  WHERE o.kind = 'writer.open'
  GROUP BY o.w
), asked AS (
  SELECT d.w, max(c.witnesses) AS witnesses
  FROM declared d
  JOIN records c ON c.kind = 'config.snapshot' AND c.ts_us = d.at_us
  GROUP BY d.w
), ends AS (
  SELECT w, max(ts_us) AS end_us
  FROM records
  WHERE kind <> 'writer.close' OR coalesce(state, '') <> 'recovered'
  GROUP BY w
), seen AS (
  SELECT w, seq, ts_us
  FROM records
  WHERE kind = 'clock.status' AND clock_source = 'witness'
  GROUP BY w, seq, ts_us
), alone AS (
  SELECT s.w, s.seq, s.ts, s.ts_us AS first_us, e.end_us
  FROM records s
  JOIN ends e ON e.w = s.w
  LEFT JOIN asked a ON a.w = s.w
  LEFT JOIN seen n ON n.w = s.w AND n.seq > s.seq AND n.ts_us >= s.ts_us
    AND n.ts_us <= s.ts_us + 3600000000
  WHERE (s.kind = 'writer.open' OR (s.kind = 'clock.status' AND s.clock_source = 'witness'))
    AND e.end_us > s.ts_us + 3600000000
    AND n.seq IS NULL
    AND coalesce(a.witnesses, (SELECT count(*) FROM seen)) > 0
)
SELECT w, seq, ts, ts_us AS first_us, ts_us AS last_us, 'the clock is more than a second off' AS reason
FROM records
WHERE kind = 'clock.status' AND clock_off_us > 1000000
UNION ALL
SELECT g.w, g.seq, g.ts, g.first_us, coalesce(min(m.ts_us), g.end_us) AS last_us,
  'not compared with a witness for more than an hour' AS reason
FROM alone g
LEFT JOIN seen m ON m.w = g.w AND m.ts_us > g.first_us + 3600000000
GROUP BY g.w, g.seq, g.ts, g.first_us, g.end_us;
