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
--   6  how old the epoch is at least, by the member's clock, in ms
--   7  the operations. Each is a name and four arguments: a host, the token of
--      its ownership, a state, and how long to keep the state, in ms
local fleet, hosts = KEYS[1], KEYS[2]
local prefix, epoch, me, number, age = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])

local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local f = redis.call('HMGET', fleet, 'epoch', 'run', 's' .. me, 'age', 'opens', 'old', 'lease')
if f[1] ~= epoch or f[2] ~= run or redis.call('HGET', hosts, '') ~= epoch then
  return {'epoch'}
elseif not f[3] then
  return {'session'}
elseif number <= tonumber(string.match(f[3], '^%d+')) then
  return {'late'} -- the call is late or was sent twice, so it must change nothing
end
age = math.max(age, tonumber(f[4])) -- neither is more than the epoch's true age
local opens, old, lease, slack = tonumber(f[5]), f[6] == '1', tonumber(f[7]), f[7] * 1.5
redis.call('HSET', fleet, 'age', age, 's' .. me, number .. ' ' .. age)

-- A host is stored as a list: these fields, and then the sessions that wait for
-- the host. OWNER is the session that owns the host, and OFFER the one to which
-- the host is offered. Either may be 0. TOKEN proves the ownership. AT is the
-- age that the epoch had when the owner last sent STATE, gave the host back or
-- was found to be dead. KEEP is how long to keep the host after that, in ms.
-- CLEAN is 0 if the time of the last request to the host is not known. That is
-- so if an owner may have ended without giving the host back, or has dropped
-- the host.
local OWNER, TOKEN, OFFER, AT, KEEP, CLEAN, STATE, WAITS = 1, 2, 3, 4, 5, 6, 7, 8
local hour, quiet = 3600000, 2500 -- in ms; a live session is never silent for longer than quiet
local visits = 0 -- how many hosts the call looks at, besides those of its operations

local function put(host, r)
  redis.call('HSET', hosts, host, cmsgpack.pack(r))
end

-- Returns how long a session has been silent, or false if it has ended.
local function silence(id)
  local v = id == me and ' ' .. age or redis.call('HGET', fleet, 's' .. id)
  return v and age - tonumber(string.match(v, ' (%d+)'))
end

-- Returns a host, or false if nothing is known about it. If the session of its
-- owner has ended, the host is freed first. A caller that has read the host
-- already passes what it has read as packed.
local function get(host, packed)
  local v = packed or redis.call('HGET', hosts, host)
  local r = v and cmsgpack.unpack(v)
  if r and r[OWNER] ~= 0 and not silence(r[OWNER]) then
    r[OWNER], r[AT], r[KEEP], r[CLEAN] = 0, age, math.max(r[KEEP], hour), 0
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
-- offer. So all waiting sessions get their turn, and hosts do not move together
-- from one member to the next. Waiting sessions that have ended are removed.
local function offer(host, r)
  local m = #r >= WAITS and tonumber(string.sub(redis.sha1hex(host), 1, 8), 16) % 65520 + 1
  local best, least = 0, 65522
  for i = #r, WAITS, -1 do
    local way, silent = (r[i] - me) * m % 65521, silence(r[i])
    if not silent then
      table.remove(r, i)
    elseif way < least and silent <= quiet then
      best, least = r[i], way
    end
  end
  r[OFFER] = best
  if best ~= 0 then
    r[TOKEN] = redis.call('HINCRBY', fleet, 'token', '1')
    tell(best, r[TOKEN], host)
  end
end

local function age_of(r)
  return math.max(0, age - r[AT] - slack)
end

-- Makes this session the owner of a host, unless it owns the host already.
local function own(host, r)
  if r[OWNER] ~= me and r[OFFER] ~= me then
    r[TOKEN] = redis.call('HINCRBY', fleet, 'token', '1')
  end
  r[OWNER], r[OFFER] = me, 0
  forget(r)
  put(host, r)
  return {'own', r[TOKEN], r[STATE] ~= 0 and r[STATE], age_of(r), r[CLEAN], #r - WAITS + 1}
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
    r = old and {0, 0, 0, lease, hour, 0, 0} or {0, 0, 0, age, 0, 1, 0}
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
  return {'other', holder, r[STATE] ~= 0 and r[STATE], age_of(r)}
end

-- Takes a host back from its owner, and stores what the owner tells about it.
-- operations.keep passes put as finish; the owner then stays the same. Returns
-- nil if this session no longer owns the host by the token held.
function operations.give(host, held, state, keep, finish)
  local r = get(host)
  if r and r[OWNER] == me and r[TOKEN] == tonumber(held) then
    r[AT], r[KEEP], r[STATE], r[CLEAN] = age, tonumber(keep), state, finish and r[CLEAN] or 1
    finish = finish or leave
    finish(host, r)
    return {}
  end
end

function operations.keep(host, held, state, keep)
  return operations.give(host, held, state, keep, put)
end

function operations.enter(host, _, state, keep)
  local r = get(host)
  if not r and age < opens then
    return own(host, {0, 0, 0, age, tonumber(keep), 1, state})
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
    r[KEEP], r[CLEAN] = math.max(r[KEEP], hour), 0
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
for i = 7, #ARGV, 5 do
  results[#results + 1] = operations[ARGV[i]](unpack(ARGV, i + 1, i + 4)) or 0
end

-- Looks at hosts chosen at random: at 64 if there is a beat, and otherwise at
-- two for each host that a give or a drop leaves stored, up to 64. So hosts are
-- deleted as fast as they are stored. get frees the hosts whose owner's session
-- has ended. The field '' is not a host: it has the epoch.
local some = redis.call('HRANDFIELD', hosts, math.min(visits, 64), 'WITHVALUES')
for i = 1, #some, 2 do
  local r = some[i] ~= '' and get(some[i], some[i + 1])
  if r and r[OWNER] == 0 and age_of(r) > r[KEEP] and age >= opens then
    redis.call('HDEL', hosts, some[i])
  end
end
return {'ok', age, lease, results}
