-- KEYS: of each account its hash, and the sorted set of the requests that settled last.
-- ARGV: the request; then for each account the amount, the cap or '', what is known to be spent, and
-- when the server may let go of it (ms).
-- First all are looked at, then all are written: a script is not undone.
local request = ARGV[1]
local rows = {}
for i = 1, #KEYS / 2 do
  local at = 4 * i - 2
  local row = redis.call('HMGET', KEYS[2 * i - 1], 'format', 'spent', 'reserved', 'r:' .. request)
  if row[1] and row[1] ~= '1' then
    return unreadable(row[1])
  end
  local spent, reserved = tonumber(row[2] or '0'), tonumber(row[3] or '0')
  if not spent or not reserved then
    return { 'damaged' }
  end
  local known, amount = tonumber(ARGV[at + 2]), tonumber(ARGV[at])
  local missing = math.max(known - spent, 0)
  spent = math.max(known, spent)
  local there = row[4] or redis.call('ZSCORE', KEYS[2 * i], request)
  if not there then
    if ARGV[at + 1] ~= '' and spent + reserved + amount > tonumber(ARGV[at + 1]) then
      return { 'refused', tostring(i - 1), digits(spent), digits(reserved) }
    end
    reserved = reserved + amount
  end
  rows[i] = { spent, reserved, missing, there }
end
local answer = { 'held' }
for i = 1, #KEYS / 2 do
  local at, row = 4 * i - 2, rows[i]
  local spent, reserved = digits(row[1]), digits(row[2])
  if not row[4] then
    redis.call('HSET', KEYS[2 * i - 1], 'format', '1', 'spent', spent, 'reserved', reserved, 'r:' .. request, ARGV[at])
    redis.call('PEXPIREAT', KEYS[2 * i - 1], ARGV[at + 3])
  elseif row[3] > 0 then
    redis.call('HSET', KEYS[2 * i - 1], 'format', '1', 'spent', spent)
    redis.call('PEXPIREAT', KEYS[2 * i - 1], ARGV[at + 3])
  end
  answer[#answer + 1] = spent
  answer[#answer + 1] = reserved
  answer[#answer + 1] = digits(row[3])
end
return answer
