-- Takes a page back. ARGV: its host and ID; its outcome ("done", "refused", "refund" or "putback"); how long the host is
-- paused; the page's stored form; how long until its Due; and how many times it was put off.
local host, id, outcome, hostPause, page, wait, puts = unpack(ARGV, 4, 10)
if holds(host, id) then
	redis.call('XACK', prefix .. host, group, id)
	redis.call('XDEL', prefix .. host, id)
	redis.call('ZREM', held, host)
	pause(host, now + tonumber(hostPause))
	if outcome == 'refused' then
		redis.call('ZADD', refused, 'INCR', 1, host)
	end
	if outcome == 'done' or outcome == 'refused' then
		redis.call('HINCRBY', meta, 'spent', 1)
		if tonumber(puts) > 0 then
			redis.call('HSET', meta, 'hurt ' .. host, 1)
		else
			redis.call('HDEL', meta, 'hurt ' .. host)
		end
	elseif outcome == 'refund' then
		redis.call('HINCRBY', meta, 'free', 1)
	elseif outcome == 'putback' then
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
