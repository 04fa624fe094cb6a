-- KEYS: the hash. Gives name and value of each row that has not ended.
local rows = redis.call('HGETALL', KEYS[1])
local now = now_us()
local found = { 'rows' }
for at = 1, #rows, 2 do
  local kind, ends, value = parse(rows[at + 1])
  if kind ~= 'row' then
    return { kind }
  end
  if not over(ends, now) then
    found[#found + 1] = rows[at]
    found[#found + 1] = value
  end
end
return found
