-- KEYS: the hash. ARGV: the row's name. Says whether there was a row.
local row = redis.call('HGET', KEYS[1], ARGV[1])
if not row then
  return { 'no' }
end
redis.call('HDEL', KEYS[1], ARGV[1])
local kind, ends = parse(row)
if kind == 'row' and over(ends, now_us()) then
  return { 'no' }
end
return { 'yes' }
