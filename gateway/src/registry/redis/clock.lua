-- Microseconds since 1970 by the server's clock. A double holds them exactly until 2255.
local function now_us()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000000 + tonumber(time[2])
end

-- A whole number in decimal digits, however large.
local function digits(number)
  return string.format('%.0f', number)
end

