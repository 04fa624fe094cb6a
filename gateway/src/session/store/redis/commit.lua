-- KEYS: the session, the ends of its bucket.
-- ARGV: id, fence, version, next version, expires, when the server may let go of it (ms), state, how
-- long the lease is kept (us) or '' to give it back.
local row = redis.call('HMGET', KEYS[1], 'format', 'version', 'lease', 'lease_holder')
if not row[1] then
  return { 'conflict' }
end
if row[1] ~= '1' then
  return unreadable(row[1])
end
if row[3] ~= ARGV[2] or row[2] ~= ARGV[3] then
  return { 'conflict' }
end
local lease, holder, until_us = row[3], row[4], '0'
if ARGV[8] == '' then
  lease, holder = given_back(row[3]), '0'
else
  until_us = digits(now_us() + tonumber(ARGV[8]))
end
redis.call('HSET', KEYS[1], 'version', ARGV[4], 'fence', ARGV[2], 'holder', holder,
  'expires', ARGV[5], 'state', ARGV[7],
  'lease', lease, 'lease_holder', holder, 'lease_until', until_us)
redis.call('PEXPIREAT', KEYS[1], ARGV[6])
redis.call('ZADD', KEYS[2], ARGV[5], ARGV[1])
return { 'done' }
