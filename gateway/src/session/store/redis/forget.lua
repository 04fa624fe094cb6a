-- KEYS: the session, the names of its bucket, the ends of its bucket. ARGV: id.
if redis.call('EXISTS', KEYS[1]) == 1 then
  return { 'conflict' }
end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
return { 'done' }
