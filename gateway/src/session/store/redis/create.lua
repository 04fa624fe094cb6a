-- KEYS: the session, the names of its bucket, the ends of its bucket.
-- ARGV: id, nonce, holder, expires, when the server may let go of it (ms), state, how long the lease is
-- kept (us) or '' for none.
if redis.call('EXISTS', KEYS[1]) == 1 then
  return { 'exists' }
end
local lease, holder, until_us = '1:' .. ARGV[2], ARGV[3], '0'
if ARGV[7] == '' then
  lease, holder = '1:-', '0'
else
  until_us = digits(now_us() + tonumber(ARGV[7]))
end
redis.call('HSET', KEYS[1], 'format', '1', 'version', '1', 'fence', '1:' .. ARGV[2],
  'holder', holder, 'expires', ARGV[4], 'state', ARGV[6],
  'lease', lease, 'lease_holder', holder, 'lease_until', until_us)
redis.call('PEXPIREAT', KEYS[1], ARGV[5])
redis.call('ZADD', KEYS[2], 0, ARGV[1])
redis.call('ZADD', KEYS[3], ARGV[4], ARGV[1])
return { 'done', '1:' .. ARGV[2] }
