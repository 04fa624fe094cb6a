-- A row is a field of a hash: format ':' end ':' value. The end is in microseconds since 1970, 0 for a
-- row that stays.
local function parse(row)
  local first = string.find(row, ':', 1, true)
  local second = first and string.find(row, ':', first + 1, true)
  if not second then
    return 'damaged'
  end
  local format = string.sub(row, 1, first - 1)
  if format ~= '1' then
    return 'newer'
  end
  local ends = tonumber(string.sub(row, first + 1, second - 1))
  if not ends then
    return 'damaged'
  end
  return 'row', ends, string.sub(row, second + 1)
end

local function over(ends, now)
  return ends ~= 0 and ends <= now
end

