-- Takes a page back. ARGV: its host and ID; what became of it ("done", "refused", "refund" or "putback"); how long the host
-- must rest; the page's stored form; how long until its Due; and how many times it was put off.
local host, id, fate, pause, page, wait, puts = unpack(ARGV, 4, 10)
if holds(host, id) then
	redis.call('XACK', prefix .. host, group, id)
	redis.call('XDEL', prefix .. host, id)
	redis.call('ZREM', held, host)
	rest(host, now + tonumber(pause))
	if fate == 'refused' then
		redis.call('ZADD', refused, 'INCR', 1, host)
	end
	if fate == 'done' or fate == 'refused' then
		redis.call('HINCRBY', meta, 'spent', 1)
		if tonumber(puts) > 0 then
			redis.call('HSET', meta, 'hurt ' .. host, 1)
		else
			redis.call('HDEL', meta, 'hurt ' .. host)
		end
	elseif fate == 'refund' then
		redis.call('HINCRBY', meta, 'free', 1)
	elseif fate == 'putback' then
		redis.call('HINCRBY', meta, 'queued', 1)
		if tonumber(wait) > 0 then
			redis.call('HSET', meta, 'hurt ' .. host, 1)
			redis.call('ZADD', waiting(host), now + tonumber(wait), page)
		else
			append(host, page)
		end
	end
end
return state()
