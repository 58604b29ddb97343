-- Queues those of the given pages that are new, and returns how many. ARGV: for each page, the hash of its URL, its host and
-- its stored form.
local fresh = 0
for i = 4, #ARGV, 3 do
	local hash, host, page = ARGV[i], ARGV[i + 1], ARGV[i + 2]
	if redis.call('SADD', seen, hash) == 1 then
		append(host, page)
		redis.call('HINCRBY', meta, 'queued', 1)
		if not redis.call('ZSCORE', held, host) then
			redis.call('ZADD', due, 'NX', now, host)
			local later = redis.call('ZRANGE', waiting(host), 0, 0, 'WITHSCORES')[2]
			if later and tonumber(redis.call('ZSCORE', due, host)) == later + head then
				redis.call('ZADD', due, now, host) -- the host waited only for that page
			end
		end
		fresh = fresh + 1
	end
end
return state(fresh)
