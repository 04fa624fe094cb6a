-- KEYS: the parts of a session. ARGV: what the names begin with.
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(name, 1, #ARGV[1]) == ARGV[1] then
    redis.call('HDEL', KEYS[1], name)
  end
end
return { 'done' }
