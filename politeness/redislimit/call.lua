#!lua flags=allow-oom
-- This script renews a session and runs the operations of its member, in order.
--
-- KEYS: the fleet's hash; the hash of its hosts.
-- ARGV:
--   1  how many times the client has sent the call
--   2  the prefix of all keys
--   3  the epoch
--   4  the session
--   5  the number of the call
--   6  an age that the epoch has at least, by the member's clock, in ms
--   7  the operations. Each is a name and four arguments: a host, the token of
--      its ownership, a state, and how long to keep that, in ms
local fleet, hosts = KEYS[1], KEYS[2]
local prefix, epoch, me, number, age = ARGV[2], ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])

local run = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)')
local f = redis.call('HMGET', fleet, 'epoch', 'run', 's' .. me, 'age', 'opens', 'old', 'lease')
if f[1] ~= epoch or f[2] ~= run or redis.call('HGET', hosts, '') ~= epoch then
  return {'epoch'}
elseif not f[3] then
  return {'session'}
elseif number <= tonumber(string.match(f[3], '^%d+')) then
  return {'late'} -- the call is late or was sent twice, so it must not act
end
age = math.max(age, tonumber(f[4])) -- both are at most the epoch's true age
local opens, old, lease, slack = tonumber(f[5]), f[6] == '1', tonumber(f[7]), f[7] * 1.5
redis.call('HSET', fleet, 'age', age, 's' .. me, number .. ' ' .. age)

-- A host is a list. It begins with these fields, and the sessions that wait for
-- the host follow. OWNER is the session that owns the host, and OFFER the one
-- to which the host is offered. Either may be 0. TOKEN proves the ownership. AT
-- is the age of the epoch when the owner last told STATE, gave the host back or
-- was found to be dead. KEEP is how long to keep the host after that, in ms.
-- CLEAN is 0 if the time of the last request is not known, because an owner may
-- have ended without giving the host back, or has dropped the host.
local OWNER, TOKEN, OFFER, AT, KEEP, CLEAN, STATE, WAITS = 1, 2, 3, 4, 5, 6, 7, 8
local hour, quiet = 3600000, 2500 -- in ms; quiet: the longest silence of a session that is live
local visits = 0 -- how many hosts the call looks at, besides those of its operations

local function put(host, r)
  redis.call('HSET', hosts, host, cmsgpack.pack(r))
end

-- Returns for how long a session has been silent, or false if it has ended.
local function silence(id)
  local v = id == me and ' ' .. age or redis.call('HGET', fleet, 's' .. id)
  return v and age - tonumber(string.match(v, ' (%d+)'))
end

-- Returns a host, or false if nothing is known about it. If the session of its
-- owner has ended, the host is freed first. packed is the host if it was read.
local function get(host, packed)
  local v = packed or redis.call('HGET', hosts, host)
  local r = v and cmsgpack.unpack(v)
  if r and r[OWNER] ~= 0 and not silence(r[OWNER]) then
    r[OWNER], r[AT], r[KEEP], r[CLEAN] = 0, age, math.max(r[KEEP], hour), 0
    put(host, r)
  end
  return r
end

-- Tells a session that a host is offered to it with a token, or that others
-- wait for the host if the token is 0.
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

-- Offers a free host to the live waiter that comes next after this session.
-- Each host has its own order of the sessions. So all waiters get their turn,
-- and hosts do not move together from one member to the next. Waiters whose
-- sessions have ended are removed.
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

-- Makes this session the owner of a host, unless it is already.
local function own(host, r)
  if r[OWNER] ~= me and r[OFFER] ~= me then
    r[TOKEN] = redis.call('HINCRBY', fleet, 'token', '1')
  end
  r[OWNER], r[OFFER] = me, 0
  forget(r)
  put(host, r)
  return {'own', r[TOKEN], r[STATE] ~= 0 and r[STATE], age_of(r), r[CLEAN], #r - WAITS + 1}
end

-- Ends what this session has to do with a host, and gives the host to others if
-- this session owns it or was offered it.
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
    -- An owner in the previous epoch may have asked the host during the first
    -- Lease of this epoch.
    r = old and {0, 0, 0, lease, hour, 0, 0} or {0, 0, 0, age, 0, 1, 0}
  end
  if r[OWNER] == me or r[OWNER] == 0 and (r[OFFER] == 0 or r[OFFER] == me or age - r[AT] > 1500 or (silence(r[OFFER]) or hour) > quiet) then
    return own(host, r)
  end
  local holder = r[OWNER] + r[OFFER] -- OWNER or OFFER is 0
  if not forget(r) then
    tell(holder, 0, host)
  end
  r[#r + 1] = me
  put(host, r)
  redis.call('HSET', prefix .. 'asked' .. holder, host, '')
  return {'other', holder, r[STATE] ~= 0 and r[STATE], age_of(r)}
end

-- Takes a host back from its owner, with what the owner tells about it. If keep
-- calls this, put is passed, and the owner stays the same. Returns nil if this
-- session does not own the host by that token any more.
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
    -- host in the previous epoch, and have asked it since it entered it here.
    r[KEEP], r[CLEAN] = math.max(r[KEEP], hour), 0
  end
  if r then
    leave(host, r)
  end
end

-- Ends a session if the given call was its last.
function operations.finish(id, last)
  if string.match(redis.call('HGET', fleet, 's' .. id) or '', '^%d+') == last then
    redis.call('HDEL', fleet, 's' .. id)
    redis.call('DEL', prefix .. 'asked' .. id)
  end
end

-- Returns all sessions with the numbers of their calls, and the hosts that
-- others have asked this session for since its last beat.
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

-- Looks at a few hosts, chosen at random: many if this is a beat, and two for
-- each host that stays stored without an owner. So hosts are deleted as fast as
-- they are stored. get frees those whose owner's session has ended. The field ''
-- is none: it has the epoch.
local some = redis.call('HRANDFIELD', hosts, math.min(visits, 64), 'WITHVALUES')
for i = 1, #some, 2 do
  local r = some[i] ~= '' and get(some[i], some[i + 1])
  if r and r[OWNER] == 0 and age_of(r) > r[KEEP] and age >= opens then
    redis.call('HDEL', hosts, some[i])
  end
end
return {'ok', age, lease, results}
