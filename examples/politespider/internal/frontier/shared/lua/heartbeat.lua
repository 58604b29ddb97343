-- Extends the leases of the pages that the caller holds. ARGV: the lease; then for each page its host and ID.
local lease = tonumber(ARGV[4])
for i = 5, #ARGV, 2 do
	local host, id = ARGV[i], ARGV[i + 1]
	if holds(host, id) then
		redis.call('XCLAIM', prefix .. host, group, me, 0, id, 'JUSTID')
		redis.call('ZADD', held, now + lease, host)
	end
end
return state()
