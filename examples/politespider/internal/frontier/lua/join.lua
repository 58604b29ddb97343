-- Begins a crawl, unless it has begun. ARGV: an epoch, what the crawl is of. Returns those that hold.
if redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1]) == 1 then
	redis.call('HSET', KEYS[1], 'about', ARGV[2], 'queued', 0, 'spent', 0)
end
return redis.call('HMGET', KEYS[1], 'epoch', 'about')
