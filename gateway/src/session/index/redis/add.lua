-- KEYS: the name, a sorted set of references by when they are forgotten. '*' stands for more of them
-- than there is room for. ARGV: the reference, when it is forgotten (us), how many there may be.
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', digits(now_us()))
local crowded = redis.call('ZSCORE', KEYS[1], '*')
local there = redis.call('ZCARD', KEYS[1]) - (crowded and 1 or 0)
if redis.call('ZSCORE', KEYS[1], ARGV[1]) or there < tonumber(ARGV[3]) then
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
elseif not crowded or tonumber(crowded) < tonumber(ARGV[2]) then
  redis.call('ZADD', KEYS[1], ARGV[2], '*')
end
local last = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')
if last[2] then
  redis.call('PEXPIREAT', KEYS[1], digits(math.min(math.ceil(tonumber(last[2]) / 1000), 253402300799000)))
end
return { 'done' }
