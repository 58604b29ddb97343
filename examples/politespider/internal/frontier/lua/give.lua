-- Takes a page back. ARGV: its host and id; what became of it: "done", "refund" or "putback"; for how long its host is to
-- be left alone; how it is written now; for how long it waits by itself; and whether its host had no answer for it: 1, 0, or
-- -1 if it was not asked.
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
