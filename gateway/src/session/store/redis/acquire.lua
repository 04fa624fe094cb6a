-- KEYS: the session. ARGV: nonce, holder, for how long (us), how; then how many turns of the holder wait,
-- how many of all may, and how long a place lasts of which nothing is heard (us).
-- How: '' if nobody waits, 'line' as the first in line, 'force' from whoever has it.
local row = redis.call('HMGET', KEYS[1], 'format', 'version', 'fence', 'holder', 'expires', 'state',
  'lease', 'lease_holder', 'lease_until', 'line')
if not row[1] and redis.call('EXISTS', KEYS[1]) == 0 then
  return { 'missing' }
end
if row[1] ~= '1' then
  return unreadable(row[1])
end
local now, how, lease = now_us(), ARGV[4], row[7]
local runs, own = (tonumber(row[9]) or 0) > now, row[8] == ARGV[2]
-- The same call once more, since its first answer was lost: it has what it took.
local again = own and string.match(lease or '', ':(.*)$') == ARGV[1]
if not again then
  local line, stand = line_of(row[10], now), 0
  if how == 'line' then
    line, stand = brought(line, ARGV[2], tonumber(ARGV[5]), tonumber(ARGV[6]), now, tonumber(ARGV[7]))
  end
  local first = line[1] == nil or (how == 'line' and line[1][1] == ARGV[2])
  if how ~= 'force' and ((runs and not own) or not first) then
    -- A turn of the holder's that ended without saying so must not hold up those that come first.
    if runs and own then
      redis.call('HSET', KEYS[1], 'lease', given_back(lease), 'lease_holder', '0', 'lease_until', '0')
    end
    keep_line(KEYS[1], line, row[10])
    return { 'busy', digits(stand) }
  end
  if how == 'line' then
    table.remove(line, 1)
    keep_line(KEYS[1], line, row[10])
  end
  local counter = math.max(counter_of(row[3]), counter_of(lease)) + 1
  lease = digits(counter) .. ':' .. ARGV[1]
end
redis.call('HSET', KEYS[1], 'lease', lease, 'lease_holder', ARGV[2],
  'lease_until', digits(now + tonumber(ARGV[3])))
return { 'held', lease, digits(now), row[2], row[3], row[4], row[5], row[6] }
