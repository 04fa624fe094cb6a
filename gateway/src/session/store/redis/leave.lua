-- KEYS: the session. ARGV: holder, which of its places is given up (from 0), and how many turns of it wait
-- without that one: where no more stand in line, it was given up already.
local row = redis.call('HMGET', KEYS[1], 'format', 'line')
if not row[1] and redis.call('EXISTS', KEYS[1]) == 0 then
  return { 'missing' }
end
if row[1] ~= '1' then
  return unreadable(row[1])
end
local line, own = line_of(row[2], now_us()), {}
for i, place in ipairs(line) do
  if place[1] == ARGV[1] then
    own[#own + 1] = i
  end
end
local at = own[tonumber(ARGV[2]) + 1]
if at and #own > tonumber(ARGV[3]) then
  table.remove(line, at)
end
keep_line(KEYS[1], line, row[2])
return { 'left' }
