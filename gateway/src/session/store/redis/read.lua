-- KEYS: the session.
local row = redis.call('HMGET', KEYS[1], 'format', 'version', 'fence', 'holder', 'expires', 'state',
  'lease', 'lease_until')
if not row[1] and redis.call('EXISTS', KEYS[1]) == 0 then
  return { 'missing' }
end
if row[1] ~= '1' then
  return unreadable(row[1])
end
local now = now_us()
local runs = (tonumber(row[8]) or 0) > now
return { 'row', runs and row[7] or '', digits(now), row[2], row[3], row[4], row[5], row[6] }
