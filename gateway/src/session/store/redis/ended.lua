-- KEYS: the ends of a bucket. ARGV: the end behind which to begin, or '-inf'; how many at most.
-- Gives ids and their ends, the earliest first.
local from = ARGV[1]
if from ~= '-inf' then
  from = '(' .. from
end
local found = redis.call('ZRANGEBYSCORE', KEYS[1], from, digits(now_us()), 'WITHSCORES',
  'LIMIT', 0, ARGV[2])
table.insert(found, 1, 'rows')
return found
