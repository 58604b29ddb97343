#!lua flags=allow-oom
-- This script renews the session of a member, and runs the operations that the
-- member has sent, in order. If the member has no session, the script starts
-- one. It also starts a new epoch then if there is none, if the server was
-- restarted or replaced since the epoch began, if one of the keys was lost, or
-- if only members of another version have used the keys, and all of them have
-- gone.
--
-- KEYS: the fleet's hash; the hash of its hosts; the sorted set of its sessions.
-- ARGV:
--   1  how many times the client has sent the call
--   2  the version of what is stored
--   3  the prefix of all keys
--   4  the epoch, or the last one that the member knew, or ''
--   5  the session; 0 starts one
--   6  the number of the call
--   7  the member's Lease in ms
--   8  the id for a new epoch
--   9  '1' for a beat: the answer contains silent sessions, and the script sends
--      the epoch to the member's channel, so that the member knows that it hears
--  10  '', or what the member knows about a fleet of another version: '-' if it
--      has members, or the count of its calls if they have all been silent for
--      so long that none of them owns a host any more
--  11  the settings of the member's Limiter
--  12  the operations. Each is a name and five arguments: a host, the token of
--      its ownership, a state, how long to keep the state, in ms, and how many
--      requests of this member are in flight
--
-- The cost of a call must not depend on how many sessions there are.
local fleet, hosts, sessions = KEYS[1], KEYS[2], KEYS[3]
local version, prefix, me, number, beat = ARGV[2], ARGV[3], tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[9] == '1'
local joins = me == 0

-- The first four fields must keep their names and meanings in all versions.
local fields = {'version', 'calls', 'live', 'lease', 'epoch', 'server', 'opens', 'old', 'age', 'clock', 'till', 'settings', 's' .. me}
local f, read = {}, redis.call('HMGET', fleet, unpack(fields))
for i, field in ipairs(fields) do
  f[field] = read[i]
end
local other = f.version and f.version ~= version
if other and tonumber(f.live) > 0 and f.calls ~= ARGV[10] or not f.version and ARGV[10] == '-' then
  return {'version', f.version or '', f.calls or '', tonumber(f.lease or 0)}
end

-- The server is another one if it was restarted, and also if it was a replica in
-- the meantime: then it gets another master_replid.
local info = redis.call('INFO', 'server', 'replication')
local server = string.match(info, 'run_id:(%x+)') .. ' ' .. string.match(info, 'master_replid:(%x+)')
local clock = math.floor(string.match(info, 'server_time_usec:(%d+)') / 1000)
local gone = not f.epoch or f.version ~= version or f.server ~= server
  or redis.call('HGET', hosts, '') ~= f.epoch or not redis.call('ZSCORE', sessions, f.epoch)
if not joins and (gone or f.epoch ~= ARGV[4]) then
  return {'epoch', ARGV[1]}
elseif gone then
  f = {epoch = ARGV[8], calls = clock, age = 0, opens = 2000, old = '0', lease = other and f.lease or 0, clock = clock, till = 0}
  redis.call('DEL', fleet, hosts, sessions)
  redis.call('HSET', hosts, '', f.epoch)
  redis.call('ZADD', sessions, 'inf', f.epoch)
end

local epoch, opens, lease, age, till = f.epoch, tonumber(f.opens), tonumber(f.lease), tonumber(f.age), tonumber(f.till)
local live = redis.call('ZCARD', sessions) - 1 -- the sorted set has the epoch too

-- The epoch's age grows by what the server's clock says has passed since the
-- last call. A live member calls every second, so if the clock says more than
-- slack, it may have been set. While nobody has a session, all of it counts.
-- Before the epoch opens it counts a second at most, because the rest after a
-- loss leaves a second to spare.
local slack = 2000
if not joins then
  local last = f['s' .. me]
  if not last then
    return {'session'}
  elseif number <= tonumber(last) then
    return {'late'} -- the call is late or was sent twice, so it must change nothing
  end
end
age = age + math.max(0, math.min(clock - f.clock, age < opens and 1000 or live == 0 and math.huge or slack))
if joins then
  lease = math.max(lease, ARGV[7])
  if ARGV[4] ~= '' and ARGV[4] ~= epoch or other then
    opens, f.old = lease + 1000, '1'
  end
  me, live = redis.call('HINCRBY', fleet, 'sessions', 1), live + 1
  redis.call('HSET', fleet, 'version', version, 'epoch', epoch, 'server', server, 'opens', opens, 'old', f.old, 'lease', lease, 'till', till, 'settings', ARGV[11])
end
redis.call('HSET', fleet, 'calls', f.calls + 1, 'live', live, 'age', age, 'clock', clock, 's' .. me, number)
redis.call('ZADD', sessions, age, me) -- a session's score is the age at its latest call

-- A host is stored as a list: these fields, and then the sessions that wait for
-- the host. OWNER is the session that owns the host, and OFFER the one to which
-- the host is offered. Either may be 0. TOKEN proves the ownership. AT is the
-- age that the epoch had when STATE was sent. KEEP is how long to keep the host
-- after that, in ms. LOST is the age at which an owner was found to be dead or
-- to have dropped the host: STATE misses its last requests. It is -1 if STATE
-- misses none. FLIGHT maps sessions that do not own the host to the number of
-- their requests in flight.
local OWNER, TOKEN, OFFER, AT, KEEP, LOST, STATE, FLIGHT, WAITS = 1, 2, 3, 4, 5, 6, 7, 8, 9
local hour, quiet = 3600000, 2500 -- in ms; a live session is never silent for longer than quiet
local most = 64 -- how many sessions wait for a host at most; others ask again with each beat
local unreadable -- the host whose field cannot be read

local function put(host, r)
  redis.call('HSET', hosts, host, cmsgpack.pack(r))
  till = math.max(till, r[AT] + r[KEEP])
end

-- Notes that requests may have been sent until now that the state misses.
local function lost(r)
  r[KEEP], r[LOST] = age - r[AT] + math.max(r[KEEP], hour), age
end

-- Returns how long a session has been silent, or false if it has ended.
local silences = {}
local function silence(id)
  if silences[id] == nil then
    local seen = redis.call('ZSCORE', sessions, id)
    silences[id] = seen and age - tonumber(seen)
  end
  return silences[id]
end

-- Returns a host, or false if nothing is known about it that matters still. If
-- the session of its owner has ended, the host is freed first. A caller that
-- has read the host already passes what it has read as packed.
local function get(host, packed)
  local v = packed or redis.call('HGET', hosts, host)
  local ok, r = pcall(cmsgpack.unpack, v or '\192')
  if not ok or r and type(r) ~= 'table' or r and type(r[FLIGHT]) ~= 'table' then
    unreadable, r = host, false
  elseif r and r[OWNER] ~= 0 and not silence(r[OWNER]) then
    lost(r)
    r[OWNER] = 0
    put(host, r)
  elseif r and r[OWNER] == 0 and age - r[AT] > r[KEEP] + slack and age >= opens then
    redis.call('HDEL', hosts, host)
    r = false
  end
  return r
end

-- Tells a session to ask for a host again: the host is offered to it or, if it
-- is the owner, others wait or their requests have ended.
local function tell(id, host)
  redis.pcall('PUBLISH', prefix .. epoch .. ':' .. id, host) -- without the right to it, members find out with their beats
end

-- Removes this session from those that wait for a host. Returns nil if it was
-- not among them.
local function forget(r)
  for i = WAITS, #r do
    if r[i] == me then
      return table.remove(r, i)
    end
  end
end

-- Offers a free host to a session that waits for it and is live. For each host,
-- the sessions have another order, and the next one after this session gets the
-- offer. Of two in the same place, the one that has waited for longer gets it.
-- So all waiting sessions get their turn, and hosts do not move together from
-- one member to the next. Waiting sessions that have ended are removed.
local function offer(host, r)
  local m = #r >= WAITS and tonumber(string.sub(redis.sha1hex(host), 1, 8), 16) % 67108858 + 1
  local best, least = 0, 67108860
  for i = #r, WAITS, -1 do
    local way, silent = ((r[i] - me) * m - 1) % 67108859, silence(r[i])
    if not silent then
      table.remove(r, i)
    elseif way <= least and silent <= quiet then
      best, least = r[i], way
    end
  end
  r[OFFER] = best
  if best ~= 0 then
    r[TOKEN] = redis.call('HINCRBY', fleet, 'token', '1')
    tell(best, host)
  end
end

-- Returns what is known about a host: its state, the state's age, how old the
-- latest request is at least, whether the state misses it (1 or 0), and how many
-- requests of others are in flight.
local function known(r)
  local flight = 0
  for id, n in pairs(r[FLIGHT]) do
    flight = flight + (id ~= me and silence(id) and n or 0)
  end
  local since = r[LOST] < 0 and r[AT] or r[LOST]
  return r[STATE] ~= 0 and r[STATE], age - r[AT], math.max(0, age - since - slack), r[LOST] < 0 and 0 or 1, flight
end

-- Makes this session the owner of a host, unless it owns the host already.
local function own(host, r)
  if r[OWNER] ~= me and r[OFFER] ~= me then
    r[TOKEN] = redis.call('HINCRBY', fleet, 'token', '1')
  end
  r[OWNER], r[OFFER] = me, 0
  forget(r)
  put(host, r)
  return {'own', r[TOKEN], #r - WAITS + 1, known(r)}
end

-- Ends what this session has to do with a host. If this session owns the host
-- or was offered it, the host is offered to the sessions that wait.
local function leave(host, r)
  forget(r)
  if r[OWNER] == me or r[OWNER] == 0 and r[OFFER] == me then
    r[OWNER] = 0
    offer(host, r)
  end
  put(host, r)
end

local operations = {}

function operations.want(host)
  local r = get(host)
  if not r and age < opens then
    return {'closed', opens - age}
  elseif not r then
    -- An owner in the previous epoch may have sent requests to the host during
    -- the first Lease of this epoch.
    r = {0, 0, 0, age, f.old == '1' and hour or 0, f.old == '1' and lease or -1, 0, {}}
  end
  if r[OWNER] == me or r[OWNER] == 0 and (r[OFFER] == 0 or r[OFFER] == me or age - r[AT] > 1500) then
    return own(host, r)
  end
  local holder = r[OWNER] + r[OFFER] -- one of the two is 0
  if not forget(r) and #r < WAITS + most - 1 then
    r[#r + 1] = me
    put(host, r)
    tell(holder, host)
  end
  return {'other', holder, 0, known(r)}
end

-- Takes a host back from its owner, and stores what the owner tells about it.
-- operations.keep passes put as finish; the owner then stays the same. Does
-- nothing if this session no longer owns the host by the token held.
function operations.give(host, held, state, keep, flight, finish)
  local r = get(host)
  if r and r[OWNER] == me and r[TOKEN] == tonumber(held) then
    r[AT], r[KEEP], r[STATE], r[LOST] = age, tonumber(keep), state, finish and r[LOST] or -1
    r[FLIGHT][me] = flight ~= '0' and tonumber(flight) or nil
    finish = finish or leave
    finish(host, r)
  end
end

function operations.keep(host, held, state, keep, flight)
  return operations.give(host, held, state, keep, flight, put)
end

-- Notes that fewer requests to a host that this session has given away are in
-- flight, and what they have taught. Its owner hears of both.
function operations.land(host, _, state, keep, flight)
  local r = get(host)
  if r and r[OWNER] ~= me then
    r[FLIGHT][me] = flight ~= '0' and tonumber(flight) or nil
    if state ~= '' then
      r[AT], r[KEEP], r[STATE] = age, math.max(r[KEEP], tonumber(keep)), state
    end
    put(host, r)
    tell(r[OWNER], host)
  end
end

function operations.enter(host, _, state, keep)
  local r = get(host) or age < opens and {me, 0, 0, age, tonumber(keep), -1, state, {}}
  if r and r[OWNER] == me then
    return own(host, r)
  end
end

function operations.drop(host)
  local r = get(host)
  if r and r[OWNER] == me then
    -- The member does not know that it owns the host. But it may have owned the
    -- host in the previous epoch, entered it into this epoch, and then sent
    -- another request to it.
    lost(r)
  end
  if r then
    leave(host, r)
  end
end

-- Ends the session id if its latest call has the number last.
function operations.finish(id, last)
  if redis.call('HGET', fleet, 's' .. id) == last then
    redis.call('HDEL', fleet, 's' .. id)
    redis.call('ZREM', sessions, id)
    live, silences[tonumber(id)] = live - 1, false
    redis.call('HSET', fleet, 'live', live)
  end
end

local results = {}
for i = 12, #ARGV, 6 do
  results[#results + 1] = operations[ARGV[i]](unpack(ARGV, i + 1, i + 5)) or 0
end

-- Looks at two hosts at random for each operation, up to 64, so that hosts are
-- deleted as fast as they are stored. The field '' is not a host: it has the
-- epoch.
local some = redis.call('HRANDFIELD', hosts, math.min(2 * #results, 64), 'WITHVALUES')
for i = 1, #some, 2 do
  if some[i] ~= '' then
    get(some[i], some[i + 1])
  end
end
if unreadable then
  redis.call('DEL', fleet) -- who owns the host is not known, so a new epoch has to begin
  return {'epoch', '1', unreadable}
end

-- Each silent session is followed by the number of its latest call. Members
-- measure the silence themselves, so the limit only has to be longer than
-- nearly all live sessions are silent.
local silent = {}
if beat then
  tell(me, epoch)
  for _, id in ipairs(redis.call('ZRANGEBYSCORE', sessions, '-inf', age - 1500, 'LIMIT', 0, 1000)) do
    silent[#silent + 1] = tonumber(id)
    silent[#silent + 1] = tonumber(redis.call('HGET', fleet, 's' .. id) or 0)
  end
end
if till ~= tonumber(f.till) then
  redis.call('HSET', fleet, 'till', till)
end
for _, key in ipairs(KEYS) do
  redis.call('PEXPIRE', key, math.max(hour, till - age))
end
return {'ok', lease, results, epoch, me, silent, joins and f.settings or ''} -- the settings are those of the member that joined last
