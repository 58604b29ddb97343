-- This is the beginning of all scripts but join.lua.
--
-- KEYS: meta   hash: epoch, about, queued, spent, over; "hurt HOST" if the host did not answer its latest page
--       seen   set: hashes of all URLs that were ever added
--       due    sorted set: hosts with no page out, by when they may be asked; a host without pages leaves it at that time
--       held   sorted set: hosts with a page out, by when its holder counts as dead
--       mine   sorted set: hosts in due that the caller had last, by when they may be asked; their time in due is head later
-- ARGV: epoch, the prefix of the names of hosts' streams, the caller's name as a consumer, then the script's own
--
-- A host's stream holds its pages. A page that is out is a pending entry of its holder. Pages that wait by themselves are
-- in a sorted set beside the stream, by when they are due. All times are by this server's clock, in milliseconds.
local meta, seen, due, held, mine = unpack(KEYS)
local prefix, me, group = ARGV[2], ARGV[3], 'crawl'
local head = 1000 -- how much earlier a host's last holder may take it than the others

if redis.call('HGET', meta, 'epoch') ~= ARGV[1] then
	return redis.error_reply('LOST the state of the crawl')
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- append puts a page at the end of its host's stream, and returns its id.
local function append(host, page)
	local stream = prefix .. host
	if redis.call('EXISTS', stream) == 0 then
		redis.call('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
	end
	return redis.call('XADD', stream, '*', 'page', page)
end

-- waiting returns the key of a host's pages that wait by themselves.
local function waiting(host)
	return prefix .. host .. ' waiting'
end

-- holds returns whether the entry is still the caller's. Another process may have taken it over.
local function holds(host, id)
	local stream = prefix .. host
	if redis.call('EXISTS', stream) == 0 then
		return false
	end
	local entry = redis.call('XPENDING', stream, group, id, id, 1)[1]
	return entry and entry[2] == me
end

-- rest lets a host rest until the time at.
local function rest(host, at)
	redis.call('ZADD', due, at + head, host)
	redis.call('ZADD', mine, at, host)
	redis.call('PEXPIRE', mine, 3600000) -- if the caller dies, no other process will remove it
end

-- state returns what each script's reply begins with.
local function state(...)
	local counts = redis.call('HMGET', meta, 'queued', 'spent')
	return {tonumber(counts[1]), redis.call('ZCARD', held), tonumber(counts[2]), redis.call('ZCARD', due), ...}
end
