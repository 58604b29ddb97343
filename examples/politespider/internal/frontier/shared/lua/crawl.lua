-- All scripts except join.lua begin with this file.
--
-- KEYS: meta     hash: epoch, about, queued, spent, free, over; "hurt HOST" if the latest page of the host was put off;
--                "rest HOST" is when the pause of an ended host ends
--       seen     set: hashes of all URLs that were ever added
--       due      sorted set: hosts with no page out, by when the next request may be sent; take.lua removes a host that
--                has no pages at that time
--       held     sorted set: hosts with a page out, by when the lease of the page expires
--       mine     sorted set: hosts whose latest page the caller had, by when the caller may send the next request; in
--                due, their time is later by head
--       refused  sorted set: hosts that have refused pages, by the number of these pages
--       ended    sorted set: hosts with pages that take.lua has removed from due, by the number of refused pages then
-- ARGV: epoch, the prefix of the keys of hosts' streams, the caller's name as a consumer, then the arguments of the script
--
-- A host's stream contains the host's pages. A page that is out is a pending entry of the process that has it. Pages that
-- wait for their Due are in a sorted set beside the stream, by Due. All times are in milliseconds, by this server's clock.
local meta, seen, due, held, mine, refused, ended = unpack(KEYS)
local prefix, me, group = ARGV[2], ARGV[3], 'crawl'
local head = 1000 -- how much earlier than other processes the process that had a host's latest page may take the next one

if redis.call('HGET', meta, 'epoch') ~= ARGV[1] then
	return redis.error_reply('LOST the state of the crawl')
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- append adds a page to the end of its host's stream, and returns the ID of its entry.
local function append(host, page)
	local stream = prefix .. host
	if redis.call('EXISTS', stream) == 0 then
		redis.call('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
	end
	return redis.call('XADD', stream, '*', 'page', page)
end

-- waiting returns the key of the sorted set of a host's pages that wait for their Due.
local function waiting(host)
	return prefix .. host .. ' waiting'
end

-- left returns how many pages of a host are queued. No page of the host may be out.
local function left(host)
	return redis.call('XLEN', prefix .. host) + redis.call('ZCARD', waiting(host))
end

-- holds returns whether the caller still holds the page. Another process may have taken it over.
local function holds(host, id)
	local stream = prefix .. host
	if redis.call('EXISTS', stream) == 0 then
		return false
	end
	local entry = redis.call('XPENDING', stream, group, id, id, 1)[1]
	return entry and entry[2] == me
end

-- pause pauses a host until the time at.
local function pause(host, at)
	redis.call('ZADD', due, at + head, host)
	redis.call('ZADD', mine, at, host)
	redis.call('PEXPIRE', mine, 3600000) -- if the caller dies, no other process will remove it
end

-- state returns a script's reply: the state of the crawl, then the arguments.
local function state(...)
	local counts = redis.call('HMGET', meta, 'queued', 'spent', 'free')
	local queued, spent, free = tonumber(counts[1]), tonumber(counts[2]), tonumber(counts[3]) or 0
	return {queued, redis.call('ZCARD', held), spent, redis.call('ZCARD', due), free, ...}
end
