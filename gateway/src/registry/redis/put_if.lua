-- KEYS: the hash. ARGV: the row's name, 'absent' or 'value', the value that must be there, the new
-- value, its lifetime in microseconds or '' (0: the row is deleted).
local now = now_us()
local row = redis.call('HGET', KEYS[1], ARGV[1])
local there = false
if row then
  local kind, ends, value = parse(row)
  if kind ~= 'row' then
    -- It is there, and is nothing that anybody expects.
    return { 'no' }
  end
  if not over(ends, now) then
    there = value
  end
end
if ARGV[2] == 'absent' then
  if there then
    return { 'no' }
  end
elseif there ~= ARGV[3] then
  return { 'no' }
end
if ARGV[5] == '0' then
  redis.call('HDEL', KEYS[1], ARGV[1])
  return { 'yes' }
end
local ends = 0
if ARGV[5] ~= '' then
  ends = now + tonumber(ARGV[5])
end
-- The server lets the key go when nothing in it is left.
local alone = redis.call('HLEN', KEYS[1]) - (row and 1 or 0) == 0
local left = redis.call('PTTL', KEYS[1])
redis.call('HSET', KEYS[1], ARGV[1], '1:' .. digits(ends) .. ':' .. ARGV[4])
if ends == 0 then
  redis.call('PERSIST', KEYS[1])
elseif alone or (left >= 0 and left < tonumber(ARGV[5]) / 1000) then
  redis.call('PEXPIREAT', KEYS[1], digits(math.ceil(ends / 1000)))
end
return { 'yes' }
