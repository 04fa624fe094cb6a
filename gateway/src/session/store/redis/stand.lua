-- KEYS: the session. ARGV: holder, how many turns of it wait, how many of all may, and how long a place
-- lasts of which nothing is heard (us). Says how many of them stand in line.
local row = redis.call('HMGET', KEYS[1], 'format', 'line')
if not row[1] and redis.call('EXISTS', KEYS[1]) == 0 then
  return { 'missing' }
end
if row[1] ~= '1' then
  return unreadable(row[1])
end
local now = now_us()
local line, own = brought(line_of(row[2], now), ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), now,
  tonumber(ARGV[4]))
keep_line(KEYS[1], line, row[2])
return { 'stands', digits(own) }
