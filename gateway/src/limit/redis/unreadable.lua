-- An account is a hash: format (1), spent, reserved, and for each request that has set something aside
-- 'r:' and its id, with how much. Beside it stands a sorted set of the requests that settled last, by
-- when: what is asked again is not done again.
local function unreadable(format)
  if not string.match(format, '^%d+$') or format == '0' then
    return { 'damaged' }
  end
  return { 'newer' }
end

