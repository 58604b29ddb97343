-- Queues the pages that are new. ARGV: for each its hash, its host and how it is written. Returns how many.
local fresh = 0
for i = 4, #ARGV, 3 do
	local hash, host, page = ARGV[i], ARGV[i + 1], ARGV[i + 2]
	if redis.call('SADD', seen, hash) == 1 then
		queue(host, page)
		if not redis.call('ZSCORE', held, host) then
			redis.call('ZADD', due, 'NX', now, host)
		end
		fresh = fresh + 1
	end
end
return state(fresh)
