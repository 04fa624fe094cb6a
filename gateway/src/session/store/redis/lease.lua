-- A session is a hash:
--   format        1
--   version       of the row, in decimal digits
--   fence         of the lease under which the row was last written
--   holder        who held that lease; 0 if that write freed it
--   expires       when the session ends, in microseconds since 1970
--   state         the sealed state
--   lease         the newest lease's fence, or its counter and '-' once it has been given back
--   lease_holder  who has it
--   lease_until   until when, in microseconds since 1970
--   line          who waits for it (line.lua); absent where nobody does
-- A fence is 'counter:nonce'. The nonce is the taker's: two takers of one counter, on either side of a
-- fail-over, have different fences.
local function counter_of(fence)
  return tonumber(string.match(fence or '', '^(%d+):')) or 0
end

local function given_back(fence)
  return digits(counter_of(fence)) .. ':-'
end

local function unreadable(format)
  if not format or not string.match(format, '^%d+$') or format == '0' then
    return { 'damaged' }
  end
  return { 'newer' }
end

