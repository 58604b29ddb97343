-- Takes a page back. ARGV: its host and id; what became of it: "done", "refund" or "putback"; for how long its host is to
-- be left alone; and how it is written now.
local host, id, fate, rest, page = unpack(ARGV, 4, 8)
if holds(host, id) then
	redis.call('XACK', prefix .. host, group, id)
	redis.call('XDEL', prefix .. host, id)
	redis.call('ZREM', held, host)
	redis.call('ZADD', due, now + tonumber(rest) + head, host)
	redis.call('ZADD', mine, now + tonumber(rest), host)
	redis.call('PEXPIRE', mine, 3600000) -- nobody else will look at it
	if fate == 'done' then
		redis.call('HINCRBY', meta, 'spent', 1)
	elseif fate == 'putback' then
		queue(host, page)
	end
end
return state()
