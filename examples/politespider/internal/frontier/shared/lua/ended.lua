-- Returns an array: each host whose crawl has ended although pages of it are queued, followed by how many pages. ARGV: how
-- many pages a host may refuse before its crawl ends.
local found = {}
for _, host in ipairs(redis.call('ZRANGEBYSCORE', refused, ARGV[4], '+inf')) do
	local pages = left(host)
	if pages > 0 then
		table.insert(found, host)
		table.insert(found, pages)
	end
end
return state(found)
