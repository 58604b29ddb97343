#!lua flags=allow-oom
-- This script renews the session of a member, and runs the operations that the
-- member has sent, in order.
--
-- KEYS: the fleet's hash; the hash of its hosts.
-- ARGV:
--   1  how many times the client has sent the call
--   2  the prefix of all keys
--   3  the epoch
--   4  the session
--   5  the number of the call
--   6  the operations. Each is a name and five arguments: a host, the token of
--      its ownership, a state, how long to keep the state, in ms, and how many
--      requests of this member are in flight
local fleet, hosts = KEYS[1], KEYS[2]
local prefix, epoch, me, number = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])

local info = redis.call('INFO', 'server')
local run, clock = string.match(info, 'run_id:(%x+)'), math.floor(string.match(info, 'server_time_usec:(%d+)') / 1000)
local f = redis.call('HMGET', fleet, 'epoch', 'run', 's' .. me, 'age', 'opens', 'old', 'lease', 'clock', 'till')
if f[1] ~= epoch or f[2] ~= run or redis.call('HGET', hosts, '') ~= epoch then
  return {'epoch'}
elseif not f[3] then
  return {'session'}
elseif number <= tonumber(string.match(f[3], '^%d+')) then
  return {'late'} -- the call is late or was sent twice, so it must change nothing
end
-- The epoch's age grows by what the server's clock says has passed since the
-- last call. A live member calls every second, so if the clock says more than
-- slack, it may have been set. Before the epoch opens it counts a second at
-- most, because the rest after a loss leaves a second to spare.
local opens, old, lease, till = tonumber(f[5]), f[6] == '1', tonumber(f[7]), tonumber(f[9])
local slack, age = 2000, tonumber(f[4])
age = age + math.max(0, math.min(clock - f[8], age < opens and 1000 or slack))
redis.call('HSET', fleet, 'age', age, 'clock', clock, 's' .. me, number .. ' ' .. age)

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
local visits = 0 -- how many hosts the call looks at, besides those of its operations

local function put(host, r)
  redis.call('HSET', hosts, host, cmsgpack.pack(r))
  till = math.max(till, r[AT] + r[KEEP])
end

-- Notes that requests may have been sent until now that the state misses.
local function lost(r)
  r[KEEP], r[LOST] = age - r[AT] + math.max(r[KEEP], hour), age
end

-- Returns how long a session has been silent, or false if it has ended.
local function silence(id)
  local v = id == me and ' ' .. age or redis.call('HGET', fleet, 's' .. id)
  return v and age - tonumber(string.match(v, ' (%d+)'))
end

-- Returns a host, or false if nothing is known about it. If the session of its
-- owner has ended, the host is freed first. A caller that has read the host
-- already passes what it has read as packed. Who owns an unreadable host is not
-- known, so a new epoch has to begin.
local function get(host, packed)
  local v = packed or redis.call('HGET', hosts, host)
  local ok, r = pcall(cmsgpack.unpack, v or '\192')
  if not ok or r and type(r) ~= 'table' or r and type(r[FLIGHT]) ~= 'table' then
    redis.call('DEL', fleet)
    error({err = 'UNREADABLE ' .. host})
  elseif r and r[OWNER] ~= 0 and not silence(r[OWNER]) then
    lost(r)
    r[OWNER] = 0
    put(host, r)
  end
  return r
end

-- Tells a session that a host is offered to it, with the token of the offer. If
-- the token is 0, the message says instead that others wait for the host.
local function tell(id, token, host)
  redis.call('PUBLISH', prefix .. epoch .. ':' .. id, token .. ' ' .. host)
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
-- offer. Of two in the same place, the one that has waited for longer gets it. So all waiting sessions get their turn, and hosts do not move together
-- from one member to the next. Waiting sessions that have ended are removed.
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
    tell(best, r[TOKEN], host)
  end
end

-- Returns what is known about a host: its state, the state's age, how old the
-- lost requests are at least, and how many requests of others are in flight.
local function known(r)
  local flight = 0
  for id, n in pairs(r[FLIGHT]) do
    flight = flight + (id ~= me and silence(id) and n or 0)
  end
  return r[STATE] ~= 0 and r[STATE], age - r[AT], r[LOST] < 0 and -1 or math.max(0, age - r[LOST] - slack), flight
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
  if r[OWNER] == 0 and r[KEEP] == 0 and #r < WAITS and age >= opens then
    redis.call('HDEL', hosts, host)
  else
    put(host, r)
    visits = visits + 2
  end
end

local operations = {}

function operations.want(host)
  local r = get(host)
  if not r and age < opens then
    return {'closed', opens - age}
  elseif not r then
    -- An owner in the previous epoch may have sent requests to the host during
    -- the first Lease of this epoch.
    r = {0, 0, 0, age, old and hour or 0, old and lease or -1, 0, {}}
  end
  if r[OWNER] == me or r[OWNER] == 0 and (r[OFFER] == 0 or r[OFFER] == me or age - r[AT] > 1500 or (silence(r[OFFER]) or hour) > quiet) then
    return own(host, r)
  end
  local holder = r[OWNER] + r[OFFER] -- one of the two is 0
  if not forget(r) then
    r[#r + 1] = me
    put(host, r)
    tell(holder, 0, host)
  end
  redis.call('HSET', prefix .. 'asked' .. holder, host, '')
  redis.call('PEXPIRE', prefix .. 'asked' .. holder, hour)
  return {'other', holder, 0, known(r)}
end

-- Takes a host back from its owner, and stores what the owner tells about it.
-- operations.keep passes put as finish; the owner then stays the same. Returns
-- nil if this session no longer owns the host by the token held.
function operations.give(host, held, state, keep, flight, finish)
  local r = get(host)
  if r and r[OWNER] == me and r[TOKEN] == tonumber(held) then
    r[AT], r[KEEP], r[STATE], r[LOST] = age, tonumber(keep), state, finish and r[LOST] or -1
    r[FLIGHT][me] = flight ~= '0' and tonumber(flight) or nil
    finish = finish or leave
    finish(host, r)
    return {}
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
    if r[OWNER] ~= 0 then
      tell(r[OWNER], -1, host)
    end
  end
end

function operations.enter(host, _, state, keep)
  local r = get(host)
  if not r and age < opens then
    return own(host, {0, 0, 0, age, tonumber(keep), -1, state, {}})
  elseif r and r[OWNER] == me then
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
  if string.match(redis.call('HGET', fleet, 's' .. id) or '', '^%d+') == last then
    redis.call('HDEL', fleet, 's' .. id)
    redis.call('DEL', prefix .. 'asked' .. id)
  end
end

-- Returns each session with the number of its latest call. Also returns the
-- hosts of this session that others have asked for since its last beat.
function operations.beat()
  visits = 64
  local sessions, all = {}, redis.call('HGETALL', fleet)
  for at = 1, #all, 2 do
    local id = string.match(all[at], '^s(%d+)$')
    if id then
      sessions[#sessions + 1] = tonumber(id)
      sessions[#sessions + 1] = tonumber(string.match(all[at + 1], '^%d+'))
    end
  end
  local asked = redis.call('HKEYS', prefix .. 'asked' .. me)
  redis.call('DEL', prefix .. 'asked' .. me)
  return {sessions, asked}
end

local results = {}
for i = 6, #ARGV, 6 do
  results[#results + 1] = operations[ARGV[i]](unpack(ARGV, i + 1, i + 5)) or 0
end

-- Looks at hosts chosen at random: at 64 if there is a beat, and otherwise at
-- two for each host that a give or a drop leaves stored, up to 64. So hosts are
-- deleted as fast as they are stored. get frees the hosts whose owner's session
-- has ended. The field '' is not a host: it has the epoch.
local some = redis.call('HRANDFIELD', hosts, math.min(visits, 64), 'WITHVALUES')
for i = 1, #some, 2 do
  local r = some[i] ~= '' and get(some[i], some[i + 1])
  if r and r[OWNER] == 0 and age - r[AT] > r[KEEP] + slack and age >= opens then
    redis.call('HDEL', hosts, some[i])
  end
end
redis.call('HSET', fleet, 'till', till)
redis.call('PEXPIRE', fleet, math.max(hour, till - age))
redis.call('PEXPIRE', hosts, math.max(hour, till - age))
return {'ok', lease, results}
