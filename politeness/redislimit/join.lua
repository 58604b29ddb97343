-- A member reports. KEYS: the fleet, the epoch.
-- ARGV: who, the seat it had or -1, how long a seat is kept, whether it may have started
-- requests without Redis, how long a new epoch stays closed, how long all is kept,
-- and from when on a member that has not reported may be doing without Redis.
--
-- The fleet is a hash: the server's run_id and how many keys it has evicted, and for
-- each seat "WHO WHEN". A new epoch begins when the server is not the one, or has not
-- the state, that the fleet knew, when a member has gone on without it, or when one comes that
-- does not know whether others have.
local time = redis.call('TIME')
local now = math.ceil(time[1] * 1000 + time[2] / 1000)
local us = time[1] * 1000000 + time[2]
local me, mine, lapse, strayed, grace, life = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4] == '1', ARGV[5], ARGV[6]
local quiet = ARGV[7]

local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local evicted = string.match(redis.call('INFO', 'stats'), 'evicted_keys:(%d+)')
local fleet, taken, last, members = {}, {}, -1, 0
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do fleet[fields[i]] = fields[i + 1] end

local seat, silent = -1, false
for field, value in pairs(fleet) do
	local n = tonumber(string.match(field, '^seat(%d+)$'))
	if n then
		local who, when = string.match(value, '^(%S+) (%d+)$')
		if who == me and seat < 0 then
			seat = n
		elseif who == me or when + lapse < now then
			redis.call('HDEL', KEYS[1], field)
		else
			taken[n], last, members = true, math.max(last, n), members + 1
			silent = silent or when + quiet < now
		end
	end
end
local open = tonumber(redis.call('GET', KEYS[2]) or -1)
local lost = open < 0 or fleet.run ~= run or fleet.evicted ~= evicted
local afresh = strayed or seat < 0 and silent
if lost or afresh and open <= now then
	open = now + grace
	redis.call('HSET', KEYS[1], 'run', run, 'evicted', evicted)
end
if seat < 0 then
	seat = mine
	if seat < 0 or taken[seat] then
		seat = 0
		while taken[seat] do seat = seat + 1 end
	end
end
redis.call('HSET', KEYS[1], 'seat' .. seat, me .. ' ' .. now)
redis.call('PEXPIRE', KEYS[1], life)
redis.call('SET', KEYS[2], string.format('%.0f', open), 'PX', life)
return {us, open, seat, math.max(last, seat) + 1, members + 1, run, tonumber(evicted)}
