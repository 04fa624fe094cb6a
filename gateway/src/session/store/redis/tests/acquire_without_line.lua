-- As it was in the release that knew no line.
-- KEYS: the session. ARGV: nonce, holder, for how long (us), 'force' to take it from whoever has it.
local row = redis.call('HMGET', KEYS[1], 'format', 'version', 'fence', 'holder', 'expires', 'state',
  'lease', 'lease_holder', 'lease_until')
if not row[1] and redis.call('EXISTS', KEYS[1]) == 0 then
  return { 'missing' }
end
if row[1] ~= '1' then
  return unreadable(row[1])
end
local now = now_us()
local taken = (tonumber(row[9]) or 0) > now and row[8] ~= ARGV[2]
if taken and ARGV[4] ~= 'force' then
  return { 'busy' }
end
local counter = math.max(counter_of(row[3]), counter_of(row[7])) + 1
local lease = digits(counter) .. ':' .. ARGV[1]
redis.call('HSET', KEYS[1], 'lease', lease, 'lease_holder', ARGV[2],
  'lease_until', digits(now + tonumber(ARGV[3])))
return { 'held', lease, digits(now), row[2], row[3], row[4], row[5], row[6] }
