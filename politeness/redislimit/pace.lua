-- The pace of one host. KEYS: the host, the epoch. ARGV[1]: what to do.
--
-- Times are milliseconds since 1970 by this server's clock, rounded up where they
-- are kept. What is known of a host is a string of 12 bytes, which is what fits
-- beside Redis's own bookkeeping in one block of 32:
--
--   6  the latest slot of a page; of an exempt request if there was none
--   1  how often slots that had been given away became void, and whether there was a page
--   3  the latest exempt slot, as its distance from that of the page
--   2  the Crawl-delay told last
--
-- and where they are in force, 6 more for the end of a pause, and 10 for each lease.
local ceil, max, min = math.ceil, math.max, math.min
local time = redis.call('TIME')
local us = time[1] * 1000000 + time[2]
local now = us / 1000
local far, nopage = 8388608, 128

local page, void, exempt, crawl, paused, leases = 0, 0, 0, 0, 0, ''
local known = redis.call('GET', KEYS[1])
if known then
	local first, gen, off, delay = struct.unpack('>I6I1I3I2', known)
	void = gen % nopage
	if gen >= nopage then
		exempt = first
	else
		page = first
		if off > 0 then exempt = page + off - far end
	end
	crawl = delay < 32768 and delay * 10 or (delay - 32768) * 10000
	if #known > 12 then
		paused = struct.unpack('>I6', known, 13)
		for at = 19, #known, 10 do
			if struct.unpack('>I6', known, at) > now then leases = leases .. known:sub(at, at + 9) end
		end
	end
end

local op, lives, answer = ARGV[1], 0, nil
if op == 'take' then
	-- The least time between two slots, the Crawl-delay or -1, the longest wait, the concurrency, whether it is
	-- exempt, the factor of jitter, the lease or 0, and its length. Numbers come and go as eight bytes each: decimals
	-- cost more to read and to write.
	local pace, told, patience, most, isexempt, stretch, id, lease = struct.unpack('>i8i8i8i8i8di8i8', ARGV[2])
	isexempt = isexempt == 1
	local open = tonumber(redis.call('GET', KEYS[2])) or -1
	if open < 0 or open > now then return struct.pack('>i8i8i8', 0, us, open) end
	if told >= 0 and not isexempt then crawl = told end
	if crawl > 0 and not isexempt then most = 1 end

	-- What was before the epoch nobody knows: each host counts as asked when it opened.
	local lastpage, lastexempt = max(page, open), max(exempt, open)
	local interval = max(pace, crawl)
	local slot
	if not isexempt then
		slot = max(now, lastpage + interval * stretch, lastexempt + pace * stretch, paused)
	else
		slot = max(now, lastexempt + pace * stretch, paused)
		-- Slots of pages have been given away into the future, one Crawl-delay after the other.
		if slot < lastpage + pace then
			if slot >= lastpage or interval < 2 * pace then
				slot = lastpage + pace
			else
				local ahead = (lastpage - slot) % interval
				if ahead < pace then
					slot = slot + ahead + pace
				elseif interval - ahead < pace then
					slot = slot + pace - (interval - ahead)
				end
			end
		end
	end
	local busy = #leases >= most * 10
	if busy then slot = max(slot, now + max(pace / 2, 10)) end
	local immediate = slot <= now
	slot = ceil(slot)
	if not immediate and slot - now > patience then return struct.pack('>i8i8i8i8', 1, us, slot, paused) end
	if busy then return struct.pack('>i8i8i8i8', 2, us, slot, paused) end
	local before
	if isexempt then
		before, exempt = exempt, slot
	else
		before, page = page, slot
	end
	if id > 0 then leases = leases .. struct.pack('>I6I4', ceil(max(slot, now) + lease), id) end
	lives = max(page + interval * stretch, exempt + interval * stretch, paused)
	answer = struct.pack('>i8i8i8i8i8i8i8', immediate and 3 or 4, us, slot, paused, void, before, open)
else
	lives = now + max(redis.call('PTTL', KEYS[1]) - 1000, 0)

	-- Whoever has been given a slot that is still to come must take another one. Those
	-- that begin within the lead may have been claimed already.
	local function annul(lead)
		void = (void + 1) % nopage
		page, exempt = min(page, ceil(now + lead)), min(exempt, ceil(now + lead))
	end

	local function drop(id)
		for at = 1, #leases, 10 do
			if struct.unpack('>I4', leases, at + 6) == id then
				leases = leases:sub(1, at - 1) .. leases:sub(at + 10)
				return true
			end
		end
	end

	if op == 'pause' then -- how long, lead
		paused = max(paused, ceil(now + ARGV[2]))
		lives = max(lives, paused)
		annul(tonumber(ARGV[3]))

	elseif op == 'hold' then -- id, how long, concurrency, lead: a request is still in flight
		local id = tonumber(ARGV[2])
		local renewed = drop(id)
		leases = leases .. struct.pack('>I6I4', ceil(now + ARGV[3]), id)
		if not renewed and #leases >= 10 * (crawl > 0 and 1 or tonumber(ARGV[4])) then annul(tonumber(ARGV[5])) end

	elseif op == 'free' then -- id, exempt, the interval if it counts from now, else 0
		local interval = tonumber(ARGV[4])
		if not drop(tonumber(ARGV[2])) and interval == 0 then return end
		if interval > 0 then
			if ARGV[3] == '1' then exempt = max(exempt, ceil(now)) else page = max(page, ceil(now)) end
			lives = max(lives, ceil(now) + max(interval, crawl))
		end

	elseif op == 'back' then -- slot, the one before it, exempt, id, void: given back unless it is no longer the last
		local slot, before = tonumber(ARGV[2]), tonumber(ARGV[3])
		local held = drop(tonumber(ARGV[5]))
		local last = ARGV[4] == '1' and exempt or page
		if last == slot and tonumber(ARGV[6]) == void then
			if ARGV[4] == '1' then exempt = before else page = before end
		elseif not held then
			return
		end
		if page + exempt + paused == 0 and leases == '' then return redis.call('DEL', KEYS[1]) end
	end
end

local first, gen, off = page, void, 0
if page == 0 then
	first, gen = exempt, void + nopage
elseif exempt > 0 then
	first = max(first, exempt - far + 1) -- only ever too late
	off = max(exempt - first + far, 1)
end
local delay = ceil(crawl / 10)
if delay >= 32768 then delay = 32768 + min(ceil(crawl / 10000), 32767) end
local value = struct.pack('>I6I1I3I2', first, gen, off, delay)
if paused > now or leases ~= '' then
	value = value .. struct.pack('>I6', paused) .. leases
	for at = 1, #leases, 10 do lives = max(lives, (struct.unpack('>I6', leases, at))) end
end
-- No other command here may have a second argument that is longer than value: Redis 7.0 would use its block of memory
-- for value.
redis.call('SET', KEYS[1], value, 'PX', string.format('%d', ceil(max(lives - now, 0)) + 1000))
return answer
