-- Takes a page back. ARGV: its host and ID; what became of it ("done", "refund" or "putback"); how long the host must rest;
-- the page's stored form; how long until its Due; and whether it was put off: 1 for yes, 0 for no, -1 to leave "hurt HOST"
-- unchanged.
local host, id, fate, pause, page, wait, hurt = unpack(ARGV, 4, 10)
if holds(host, id) then
	redis.call('XACK', prefix .. host, group, id)
	redis.call('XDEL', prefix .. host, id)
	redis.call('ZREM', held, host)
	rest(host, now + tonumber(pause))
	if hurt == '1' then
		redis.call('HSET', meta, 'hurt ' .. host, 1)
	elseif hurt == '0' then
		redis.call('HDEL', meta, 'hurt ' .. host)
	end
	if fate == 'done' then
		redis.call('HINCRBY', meta, 'spent', 1)
	elseif fate == 'refund' then
		redis.call('HINCRBY', meta, 'free', 1)
	elseif fate == 'putback' then
		redis.call('HINCRBY', meta, 'queued', 1)
		if tonumber(wait) > 0 then
			redis.call('ZADD', waiting(host), now + tonumber(wait), page)
		else
			append(host, page)
		end
	end
end
return state()
