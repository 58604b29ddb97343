-- Begins a crawl, unless it has begun. ARGV: an epoch, and a description of the crawl. Returns the epoch and the
-- description that are in force.
if redis.call('HSETNX', KEYS[1], 'epoch', ARGV[1]) == 1 then
	redis.call('HSET', KEYS[1], 'about', ARGV[2], 'queued', 0, 'spent', 0)
end
return redis.call('HMGET', KEYS[1], 'epoch', 'about')
