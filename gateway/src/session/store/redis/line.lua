-- The line is a text: 'holder:until' for each turn that waits, the first one first, with a blank between
-- them. 'until' is when the place is nobody's if nothing is heard of it, in microseconds since 1970.
-- A script of an earlier release neither reads nor writes it.

-- The places that are somebody's.
local function line_of(text, now)
  local line = {}
  for holder, ends in string.gmatch(text or '', '(%d+):(%d+)') do
    if tonumber(ends) > now then
      line[#line + 1] = { holder, tonumber(ends) }
    end
  end
  return line
end

-- Has so many turns of a holder stand in line, as far as there is room: those that stand there keep their
-- places. Gives the line, and how many of them stand in it. A place that has more than two thirds of its
-- time left is not written anew.
local function brought(line, holder, turns, most, now, stands)
  local kept, own = {}, 0
  for _, place in ipairs(line) do
    if place[1] ~= holder then
      kept[#kept + 1] = place
    elseif own < turns then
      own = own + 1
      if place[2] - now < stands * 2 / 3 then
        place[2] = now + stands
      end
      kept[#kept + 1] = place
    end
  end
  while own < turns and #kept < most do
    own = own + 1
    kept[#kept + 1] = { holder, now + stands }
  end
  return kept, own
end

local function keep_line(key, line, before)
  local places = {}
  for i, place in ipairs(line) do
    places[i] = place[1] .. ':' .. digits(place[2])
  end
  local text = table.concat(places, ' ')
  if text == (before or '') then
    return
  end
  if text == '' then
    redis.call('HDEL', key, 'line')
  else
    redis.call('HSET', key, 'line', text)
  end
end

