-- Queues the pages that are new. ARGV: for each its hash, host, URL, and the page it was found on. Returns how many.
local fresh = 0
for i = 4, #ARGV, 4 do
	local hash, host, url, from = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
	if redis.call('SADD', seen, hash) == 1 then
		queue(host, url, from, 0)
		if not redis.call('ZSCORE', held, host) then
			redis.call('ZADD', due, 'NX', now, host)
		end
		fresh = fresh + 1
	end
end
return state(fresh)
