-- Hands out a page. ARGV: the maximum number of pages of the crawl, the lease, how long to remember a crawl that is over, and
-- how many pages a host may refuse before its crawl ends (0: any number). Returns "page", its host, its ID and its stored
-- form; or "wait", how long (-1: until something changes) and the host that is due then; or "over".
local max, lease, keep, limit = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

-- page returns the reply for a page that is handed out.
local function page(host, entry)
	redis.call('ZREM', due, host)
	redis.call('ZADD', held, now + lease, host)
	return state('page', host, entry[1], entry[2][2])
end

-- claim makes the caller the consumer of a page.
local function claim(host, id) return redis.call('XCLAIM', prefix .. host, group, me, 0, id, 'FORCE')[1] end

-- next returns the next page of a host, if there is one. If the host's latest page was put off, the last page comes first,
-- because it is the least similar one. Otherwise a page whose Due is over comes first, because it has been queued for longer.
local function next(host)
	if redis.call('HGET', meta, 'hurt ' .. host) then
		local last = redis.call('XREVRANGE', prefix .. host, '+', '-', 'COUNT', 1)[1]
		if last then
			return claim(host, last[1])
		end
	end
	local again = redis.call('ZRANGEBYSCORE', waiting(host), '-inf', now, 'LIMIT', 0, 1)[1]
	if again then
		redis.call('ZREM', waiting(host), again)
		return claim(host, append(host, again))
	end
	local read = redis.call('XREADGROUP', 'GROUP', group, me, 'COUNT', 1, 'STREAMS', prefix .. host, '>')
	return read and read[1][2][1]
end

-- The pages of dead processes come first. They were counted when those processes took them.
for _, host in ipairs(redis.call('ZRANGEBYSCORE', held, '-inf', now, 'LIMIT', 0, 10)) do
	local claimed = redis.call('XAUTOCLAIM', prefix .. host, group, me, math.floor(lease / 2), '0', 'COUNT', 1)[2]
	if claimed[1] then
		return page(host, claimed[1])
	end
	redis.call('ZADD', held, now + lease, host)
end

-- The crawl of a host continues if this process has a higher limit than the process that ended it.
for _, host in ipairs(redis.call('ZRANGEBYSCORE', ended, '-inf', limit > 0 and '(' .. limit or '+inf')) do
	redis.call('ZREM', ended, host)
	local pausedUntil = tonumber(redis.call('HGET', meta, 'rest ' .. host) or 0)
	redis.call('HDEL', meta, 'rest ' .. host)
	redis.call('ZADD', due, 'NX', math.max(now, pausedUntil), host)
end

local queued, out, spent = unpack(state())
local full = spent + out >= max
if out == 0 and (queued == 0 or full) then
	if queued == 0 and redis.call('HSETNX', meta, 'over', now) == 1 then
		for _, host in ipairs(redis.call('ZRANGE', due, 0, -1)) do
			redis.call('DEL', prefix .. host)
		end
		redis.call('DEL', due, refused)
		redis.call('PEXPIRE', meta, keep)
		redis.call('PEXPIRE', seen, keep)
	end
	redis.call('DEL', mine)
	return state('over')
end
if not full then
	for _ = 1, 100 do
		local first = redis.call('ZRANGE', due, 0, 0, 'WITHSCORES')
		local own = redis.call('ZRANGE', mine, 0, 0, 'WITHSCORES')
		local host, at = first[1], tonumber(first[2])
		if not host and out == 0 then -- the pages that are left are those of hosts whose crawl has ended
			redis.call('DEL', mine)
			return state('over')
		elseif not host then
			return state('wait', -1, '')
		elseif own[1] and tonumber(redis.call('ZSCORE', due, own[1]) or 0) ~= own[2] + head then
			redis.call('ZREM', mine, own[1]) -- another process has had this host since
		else
			if own[1] and tonumber(own[2]) < at then
				host, at = own[1], tonumber(own[2])
			end
			local refusals = tonumber(redis.call('ZSCORE', refused, host) or 0)
			local isOver = limit > 0 and refusals >= limit
			if at > now and not isOver then
				return state('wait', at - now, host)
			end
			redis.call('ZREM', mine, host)
			local entry = not isOver and next(host)
			if entry then
				redis.call('HINCRBY', meta, 'queued', -1)
				return page(host, entry)
			end
			local later = redis.call('ZRANGE', waiting(host), 0, 0, 'WITHSCORES')[2]
			if isOver and left(host) > 0 then
				redis.call('ZREM', due, host)
				redis.call('ZADD', ended, refusals, host)
				if at > now then
					redis.call('HSET', meta, 'rest ' .. host, at) -- for a process with a higher limit, which continues the host's crawl
				end
			elseif later and not isOver then
				pause(host, later)
			else
				redis.call('ZREM', due, host) -- the host had no pages, and its pause is over
				redis.call('DEL', prefix .. host)
			end
		end
	end
	return state('wait', 0, '')
end
return state('wait', -1, '')
