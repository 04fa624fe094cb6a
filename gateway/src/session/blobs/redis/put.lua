-- KEYS: the parts of a session. ARGV: the part's name, the part, when the server may let go of all (ms).
local there = redis.call('HGET', KEYS[1], ARGV[1])
if there then
  return { there == '1' .. ARGV[2] and 'done' or 'exists' }
end
redis.call('HSET', KEYS[1], ARGV[1], '1' .. ARGV[2])
redis.call('PEXPIREAT', KEYS[1], ARGV[3])
return { 'done' }
