-- KEYS: the session, the names of its bucket, the ends of its bucket. ARGV: id, fence, version.
local row = redis.call('HMGET', KEYS[1], 'lease', 'version')
if row[1] ~= ARGV[2] or row[2] ~= ARGV[3] then
  return { 'conflict' }
end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
return { 'done' }
