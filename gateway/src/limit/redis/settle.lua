-- KEYS: of each account its hash, and the sorted set of the requests that settled last.
-- ARGV: the request, what it spent or '' if it asked nobody, how long settled requests are
-- remembered (us); then for each account when the server may let go of it (ms).
-- First all are looked at, then all are written: a script is not undone.
local request, spent, kept = ARGV[1], ARGV[2], tonumber(ARGV[3])
local now, rows = now_us(), {}
for i = 1, #KEYS / 2 do
  local row = redis.call('HMGET', KEYS[2 * i - 1], 'format', 'spent', 'reserved', 'r:' .. request)
  if row[1] and row[1] ~= '1' then
    return unreadable(row[1])
  end
  local before, reserved, open = tonumber(row[2] or '0'), tonumber(row[3] or '0'), tonumber(row[4] or '0')
  if not before or not reserved or not open then
    return { 'damaged' }
  end
  rows[i] = { before, reserved, open, row[4] }
end
local answer = { 'done' }
for i = 1, #KEYS / 2 do
  local hash, set, row = KEYS[2 * i - 1], KEYS[2 * i], rows[i]
  local total, reserved = row[1], row[2]
  if row[4] then
    reserved = math.max(reserved - row[3], 0)
    redis.call('HDEL', hash, 'r:' .. request)
    redis.call('HSET', hash, 'reserved', digits(reserved))
  end
  if spent ~= '' and not redis.call('ZSCORE', set, request) then
    total = total + tonumber(spent)
    redis.call('HSET', hash, 'format', '1', 'spent', digits(total), 'reserved', digits(reserved))
    redis.call('ZREMRANGEBYSCORE', set, '-inf', digits(now - kept))
    redis.call('ZADD', set, digits(now), request)
    redis.call('PEXPIREAT', hash, ARGV[3 + i])
    redis.call('PEXPIREAT', set, ARGV[3 + i])
  end
  answer[#answer + 1] = digits(total)
  answer[#answer + 1] = digits(reserved)
end
return answer
