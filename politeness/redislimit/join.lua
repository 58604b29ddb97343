#!lua flags=allow-oom
-- This script starts a session. It also starts a new epoch if there is none, if
-- the server was restarted or replaced since the epoch began, or if one of the
-- two keys was lost.
--
-- KEYS: the fleet's hash; the hash of its hosts.
-- ARGV:
--   1  how many times the client has sent the call
--   2  the id for a new epoch
--   3  the last epoch that the member knew, or ''
--   4  the member's Lease in ms
local fleet, hosts = KEYS[1], KEYS[2]
local info = redis.call('INFO', 'server')
local run, clock = string.match(info, 'run_id:(%x+)'), math.floor(string.match(info, 'server_time_usec:(%d+)') / 1000)
local epoch, was, lease = unpack(redis.call('HMGET', fleet, 'epoch', 'run', 'lease'))
if not epoch or was ~= run or redis.call('HGET', hosts, '') ~= epoch then
  epoch, lease = ARGV[2], 0
  redis.call('DEL', fleet, hosts)
  redis.call('HSET', fleet, 'epoch', epoch, 'run', run, 'age', 0, 'opens', 2000, 'old', 0, 'till', 0, 'clock', clock)
  redis.call('HSET', hosts, '', epoch)
  redis.call('PEXPIRE', fleet, 3600000)
  redis.call('PEXPIRE', hosts, 3600000)
end
lease = math.max(lease, ARGV[4])
redis.call('HSET', fleet, 'lease', lease)
if ARGV[3] ~= '' and ARGV[3] ~= epoch then
  redis.call('HSET', fleet, 'opens', lease + 1000, 'old', 1)
end
-- While nobody has a session, the epoch's age grows by the server's clock: by a
-- second at most before the epoch opens, as in call.lua.
local age, last, opens = unpack(redis.call('HMGET', fleet, 'age', 'clock', 'opens'))
if not string.find(' ' .. table.concat(redis.call('HKEYS', fleet), ' '), ' s%d') then
  local gap = math.max(0, clock - last)
  age = age + (tonumber(age) < tonumber(opens) and math.min(gap, 1000) or gap)
  redis.call('HSET', fleet, 'age', age, 'clock', clock)
end
local id = redis.call('HINCRBY', fleet, 'sessions', 1)
redis.call('HSET', fleet, 's' .. id, '0 ' .. age)
return {epoch, id}
