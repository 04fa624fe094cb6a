-- KEYS: the session.
local row = redis.call('HMGET', KEYS[1], 'format', 'version', 'fence', 'holder', 'expires', 'state')
if not row[1] and redis.call('EXISTS', KEYS[1]) == 0 then
  return { 'missing' }
end
if row[1] ~= '1' then
  return unreadable(row[1])
end
return { 'row', '', digits(now_us()), row[2], row[3], row[4], row[5], row[6] }
