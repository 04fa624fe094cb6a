-- KEYS: the session. ARGV: fence, for how long from now (us) or '' to give the lease back.
if redis.call('HGET', KEYS[1], 'lease') ~= ARGV[1] then
  return { 'conflict' }
end
if ARGV[2] == '' then
  redis.call('HSET', KEYS[1], 'lease', given_back(ARGV[1]), 'lease_holder', '0', 'lease_until', '0')
else
  redis.call('HSET', KEYS[1], 'lease_until', digits(now_us() + tonumber(ARGV[2])))
end
return { 'done' }
