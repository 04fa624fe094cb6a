-- KEYS: the account's hash.
local row = redis.call('HMGET', KEYS[1], 'format', 'spent', 'reserved')
if row[1] and row[1] ~= '1' then
  return unreadable(row[1])
end
return { 'done', row[2] or '0', row[3] or '0' }
