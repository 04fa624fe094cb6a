-- KEYS: the hash. ARGV: the row's name. Gives its value, if it has not ended.
local row = redis.call('HGET', KEYS[1], ARGV[1])
if not row then
  return { 'absent' }
end
local kind, ends, value = parse(row)
if kind ~= 'row' then
  return { kind }
end
if over(ends, now_us()) then
  return { 'absent' }
end
return { 'row', value }
