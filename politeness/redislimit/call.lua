#!lua flags=allow-oom
-- This script renews the session of a member, and runs the member's operations
-- in order. If the member has no session, the script starts one.
--
-- A new session also starts a new epoch if there is none, if the server was
-- restarted or replaced since the epoch began, if a key was lost, or if the
-- keys belong to another format version whose sessions have all ended.
--
-- KEYS: the hash of the fleet; the hash of its hosts; the sorted set of its
-- sessions.
-- ARGV:
--   1  how often the client has sent the call
--   2  the format version
--   3  the prefix of all keys
--   4  the epoch, or the last one that the member knew, or ''
--   5  the session; 0 starts one
--   6  the number of the call
--   7  the longest Lease of a member that this member knows of, in ms
--   8  the name for a new epoch
--   9  '1' for a heartbeat: the reply contains the silent sessions; '2' for a
--      heartbeat that also tests the member's subscription: the script sends a
--      notification to the member
--  10  what the member knows about a fleet of another version: '' if there is
--      none, '-' if it has members, or the number of its calls if all its
--      members have been silent for so long that none of them owns a host; see
--      otherVersion in peers.go
--  11  the settings of the member's Limiter; only needed to start a session
--  12  the operations. Each is a name and seven arguments: a host, the token of
--      its ownership, a state, how long to keep the state from its export, in
--      ms, how many of this member's requests to the host are in flight, the
--      number of the latest late state that the state includes, and how long
--      ago the state was exported, in ms, by the member's clock
--
-- The operations:
--   want      requests the host: the session becomes the owner or joins the queue
--   give      gives the host back, with its state; the queue gets an offer
--   keep      stores the state of a host that the session still owns
--   land      reports requests that were in flight when the host was given back
--             or lost: how many still are, and a late state if they have begun
--             a pause
--   register  makes the session the owner in a new epoch
--   drop      leaves the queue, or gives the host back with the state that was
--             stored last, which is marked as incomplete
--   finish    ends a session
--
-- The cost of a call must not depend on the number of sessions. Most calls are
-- heartbeats that change nothing. They should execute few commands and create
-- few tables and functions, because these take most of the time.
local fleet, hosts, sessions = KEYS[1], KEYS[2], KEYS[3]
local version, prefix, me, number, heartbeat = ARGV[2], ARGV[3], tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[9] ~= '0'
local testsSubscription = ARGV[9] == '2'
local joins = me == 0

-- The fields of the fleet. The first four must keep their names and meanings in
-- all versions.
--   version   the format version
--   calls     the number of calls
--   live      the number of sessions
--   lease     the longest Lease of a member, in ms. A new epoch takes it over,
--             because members of the earlier one may still send requests.
--   epoch     the name of the epoch
--   server    identifies the run of the server
--   opens     the age of the epoch from which hosts without an owner are handed
--             out: 2 s, or longer if an earlier epoch had members; see member.go
--   old       '1' if an earlier epoch had members
--   age       how old the epoch is, in ms
--   clock     the server's clock at the latest call, in ms
--   till      the age up to which the state of some host must be kept
--   expires   when all keys expire, by the server's clock, in ms
--   settings  of the member that joined last
--   sessions  the latest session
--   token     the latest token of an ownership, or number of a late state; see
--             TOKEN and LATE
--   s1, s2, … for each session, the number of its latest call
local storedVersion, calls, live, lease, epoch, storedServer, opens, old, age, latestCall, till, expires, latestNumber =
  unpack(redis.call('HMGET', fleet, 'version', 'calls', 'live', 'lease', 'epoch', 'server', 'opens', 'old', 'age', 'clock', 'till', 'expires', 's' .. ARGV[5]))
local otherVersion = storedVersion and storedVersion ~= version
local inUse = otherVersion and tonumber(live) > 0 and calls ~= ARGV[10]
if inUse or not storedVersion and ARGV[10] == '-' then
  return {'version', storedVersion or '', calls or '', tonumber(lease or 0)}
end

-- The text is searched without patterns, because they are slow.
local info = redis.call('INFO', 'server', 'replication')
local function infoValue(name)
  local _, colon = string.find(info, '\n' .. name .. ':', 1, true)
  return string.match(info, '^%w+', colon + 1)
end

-- The hosts of all operations are read with one command. The field '' contains
-- the epoch.
local names = {''}
for i = 13, #ARGV, 8 do
  names[#names + 1] = ARGV[i]
end
local packed = {} -- maps the hosts that were read or stored to their data
for i, data in ipairs(redis.call('HMGET', hosts, unpack(names))) do
  packed[names[i]] = data
end

-- A server's run_id changes when it restarts. Its master_replid changes when it
-- has been a replica in the meantime.
local server = infoValue('run_id') .. ' ' .. infoValue('master_replid')
local clock = tonumber(string.sub(infoValue('server_time_usec'), 1, -4)) -- in ms
local lost = not epoch or storedVersion ~= version or storedServer ~= server or packed[''] ~= epoch
  or joins and not redis.call('ZSCORE', sessions, epoch)
if not joins and (lost or epoch ~= ARGV[4]) then
  return {'epoch', ARGV[1]}
end
-- If the data shows members, they may own hosts that the data does not contain,
-- and may be unable to reach the server.
local hadMembers = lost and tonumber(live or 0) > 0
if lost and not storedVersion then -- the key of the fleet was evicted, or there is no fleet
  hadMembers = redis.call('ZCARD', sessions) > 1
end
if lost then
  epoch, opens, old, expires = ARGV[8], 2000, '0', 0
  calls, live, age, latestCall, till = clock, 0, 0, clock, 0
  lease = lease or 0
  packed = {}
  redis.call('DEL', fleet, hosts, sessions)
  redis.call('HSET', hosts, '', epoch)
  redis.call('ZADD', sessions, 'inf', epoch)
end
live, lease, opens, age, till = tonumber(live), tonumber(lease), tonumber(opens), tonumber(age), tonumber(till)
local storedTill = till

-- The age grows by the time since the latest call. If a session exists, that is
-- at most about a second. A longer time means that the clock was set, so at most
-- maxStep of it counts. Without a session, the whole time counts. Until the epoch
-- opens, at most a second counts, because the pause after a loss has a margin of
-- one second.
local maxStep = 2000
local limit = maxStep
if age < opens then
  limit = 1000
elseif live == 0 then
  limit = math.huge
end
age = age + math.max(0, math.min(clock - latestCall, limit))

-- A session's score is the age at its latest call.
local latestSettings = ''
if joins then
  lease = math.max(lease, ARGV[7])
  if ARGV[4] ~= '' and ARGV[4] ~= epoch or otherVersion or hadMembers then
    opens, old = lease + 1000, '1'
  end
  latestSettings = redis.call('HGET', fleet, 'settings') or ''
  me, live = redis.call('HINCRBY', fleet, 'sessions', 1), live + 1
  redis.call('HSET', fleet, 'version', version, 'live', live, 'epoch', epoch, 'server', server, 'opens', opens, 'old', old, 'lease', lease, 'till', till, 'settings', ARGV[11])
  redis.call('ZADD', sessions, age, me)
elseif not latestNumber then
  return {'session'}
elseif number <= tonumber(latestNumber) then
  return {'late'} -- the call was delayed or sent twice, so it must have no effect
elseif redis.call('ZADD', sessions, 'XX', 'CH', age, ARGV[5]) == 0 and not redis.call('ZSCORE', sessions, ARGV[5]) then
  -- With these options, ZADD adds no session. It returns 0 if the score is
  -- unchanged, or if the session is missing because the key was lost.
  return {'epoch', ARGV[1]}
end
redis.call('HSET', fleet, 'calls', calls + 1, 'age', age, 'clock', clock, 's' .. me, ARGV[6])

-- A host is stored as a list of these fields and its queue: the sessions that
-- wait for the host.
--   OWNER   the session that owns the host; 0 means none
--   TOKEN   proves the ownership
--   OFFER   the session to which the host is offered; 0 means none
--   SINCE   the age when the host was offered to that session; 0 means none
--   AT      the age of the epoch when STATE was exported; negative if it was
--           exported before the epoch began
--   KEEP    how long after that STATE must be kept, in ms
--   LOST    the age at which the script noticed that an owner had ended or
--           dropped the host without its last state; -1 means that STATE is
--           complete
--   STATE   what the owner has learned about the host; 0 means nothing
--   FLIGHT  maps sessions that do not own the host to the number of their
--           requests in flight
--   LATE    maps sessions to their late states. Each is a list: a number that
--           increases, the age when the state was exported, the age up to which
--           it must be kept, and the state. A late state does not replace
--           STATE, because the session does not know what others have learned
--           and started since it gave the host back. It is removed when the
--           owner has stored a STATE that includes it.
local OWNER, TOKEN, OFFER, SINCE, AT, KEEP, LOST, STATE, FLIGHT, LATE, QUEUE = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11
local hour = 3600000 -- in ms
local maxSilence = 2500 -- in ms; the member of a session that is silent for longer may have ended
local offerTime = 1500 -- in ms; a host that is offered for longer is available to every session
local maxQueue = 64 -- other sessions try again with each heartbeat

-- Returns how long a session has been silent, or false if it has ended.
local silences = {[me] = 0}
local function silence(id)
  if silences[id] == nil then
    local seen = redis.call('ZSCORE', sessions, id)
    silences[id] = seen and age - tonumber(seen)
  end
  return silences[id]
end

-- Decodes a host. Returns nil if the data is invalid.
local function decode(data)
  local ok, r = pcall(cmsgpack.unpack, data or '')
  if ok and type(r) == 'table' and type(r[FLIGHT]) == 'table' and type(r[LATE]) == 'table' then
    return r
  end
end

-- Returns what is known about a host: its state, the age of the state, how old
-- the latest request is at least, whether the state is incomplete (1 or 0), and
-- how many requests of other sessions are in flight.
local function describe(r)
  local flight = 0
  for id, n in pairs(r[FLIGHT]) do
    if id ~= me and silence(id) then
      flight = flight + n
    end
  end
  local since, incomplete = r[AT], 0
  if r[LOST] >= 0 then
    since, incomplete = r[LOST], 1
  end
  return r[STATE] ~= 0 and r[STATE], age - r[AT], math.max(0, age - since - maxStep), incomplete, flight
end

-- Returns the age up to which the states of a host must be kept.
local function keptTill(r)
  local last = r[AT] + r[KEEP]
  for _, late in pairs(r[LATE]) do
    last = math.max(last, late[3])
  end
  return last
end

-- Returns the late states of a host: for each, its number, its age and the state.
local function lateStates(r)
  local list = {}
  for _, late in pairs(r[LATE]) do
    list[#list + 1] = late[1]
    list[#list + 1] = age - late[2]
    list[#list + 1] = late[4]
  end
  return list
end

-- Returns the result of the operation "want" for a host that this session owns.
-- The last element is how much longer the states must be kept, in ms.
local function describeOwned(r)
  local state, stateAge, minAge, incomplete, flight = describe(r)
  return {'own', r[TOKEN], #r - QUEUE + 1, state, stateAge, minAge, incomplete, flight, lateStates(r), math.max(0, keptTill(r) - age)}
end

-- Most calls only request hosts again that this session owns, which changes
-- nothing.
local results = {}
local onlyOwned = true
for i = 12, #ARGV, 8 do
  local r = ARGV[i] == 'want' and decode(packed[ARGV[i + 1]])
  if not r or r[OWNER] ~= me then
    onlyOwned = false
    break
  end
  results[#results + 1] = describeOwned(r)
end

-- All other calls, and every eighth one, need the following functions. Their
-- definitions take long.
local inspects = number % 8 == 0
if inspects or not onlyOwned then
  local invalidHost -- a host whose data cannot be decoded
  local stored = 0 -- how often a host was stored

  local function put(host, r)
    for id in pairs(r[FLIGHT]) do
      if not silence(id) then
        r[FLIGHT][id] = nil -- the session has ended
      end
    end
    packed[host] = cmsgpack.pack(r)
    redis.call('HSET', hosts, host, packed[host])
    till = math.max(till, keptTill(r))
    stored = stored + 1
  end

  -- Marks the state as incomplete: it may lack requests that have been sent
  -- until now.
  local function markIncomplete(r)
    r[KEEP] = age - r[AT] + math.max(r[KEEP], hour)
    r[LOST] = age
  end

  -- Reports whether a host must be stored although it has no owner: its state
  -- may still be needed, a member has requests in flight, or the epoch has not
  -- opened.
  local function isNeeded(r)
    if age <= keptTill(r) + maxStep or age < opens then
      return true
    end
    for id in pairs(r[FLIGHT]) do
      if silence(id) then
        return true
      end
    end
    return false
  end

  -- Returns a host whose data was read, or false if there is none or it is no
  -- longer needed. If the session of the owner has ended, the owner is removed
  -- first.
  local function get(host)
    if not packed[host] then
      return false
    end
    local r = decode(packed[host])
    if not r then
      invalidHost = host
      return false
    end
    if r[OWNER] ~= 0 and not silence(r[OWNER]) then
      markIncomplete(r)
      r[OWNER] = 0
      put(host, r)
    elseif r[OWNER] == 0 and not isNeeded(r) then
      packed[host] = nil
      redis.call('HDEL', hosts, host)
      return false
    end
    return r
  end

  -- Returns a host about which nothing is known.
  local function newHost()
    local r = {0, 0, 0, 0, age, 0, -1, 0, {}, {}}
    if old == '1' then
      -- An owner in an earlier epoch may have sent requests to the host during
      -- the first Lease of this epoch.
      r[KEEP], r[LOST] = hour, lease
    end
    return r
  end

  -- Makes a session request a host again, because the host is offered to the
  -- session, or because the session owns the host and others wait for it or
  -- report the end of a request. Without the permission to publish, sessions
  -- notice this with their heartbeats.
  local function notify(id, host)
    redis.pcall('PUBLISH', prefix .. epoch .. ':' .. id, host)
  end

  -- Returns the index of this session in the queue, or nil.
  local function queueIndex(r)
    for i = QUEUE, #r do
      if r[i] == me then
        return i
      end
    end
  end

  local function leaveQueue(r)
    local i = queueIndex(r)
    if i then
      table.remove(r, i)
    end
  end

  -- Offers a host to the next live session of the queue, and removes sessions
  -- from the queue that have ended. The sessions form a circle, whose order is
  -- another one for each host, and the first waiting session after this one is
  -- next. So each session gets its turn, and hosts do not move together from
  -- member to member. If two have the same place, the one that has waited
  -- longer is next. 67108859 is a prime: the order is a permutation, and
  -- products stay below 2^53. If all sessions have been silent for too long, the
  -- host is offered to none, but each learns that it is available.
  local function offer(host, r)
    local factor = #r >= QUEUE and tonumber(string.sub(redis.sha1hex(host), 1, 8), 16) % 67108858 + 1
    local nextSession, least = 0, 67108860
    for i = #r, QUEUE, -1 do
      local distance, silent = ((r[i] - me) * factor - 1) % 67108859, silence(r[i])
      if not silent then
        table.remove(r, i)
      elseif distance <= least and silent <= maxSilence then
        nextSession, least = r[i], distance
      end
    end
    r[OFFER], r[SINCE] = nextSession, 0
    if nextSession ~= 0 then
      r[SINCE] = age
      r[TOKEN] = redis.call('HINCRBY', fleet, 'token', '1')
      notify(nextSession, host)
    end
    for i = QUEUE, nextSession == 0 and #r or 0 do
      notify(r[i], host)
    end
  end

  -- Makes this session the owner of a host, unless it is the owner. The token
  -- changes unless the host was offered to the session. A registered host has
  -- the token 0.
  local function own(host, r)
    if r[OWNER] ~= me then
      if r[OFFER] ~= me then
        r[TOKEN] = redis.call('HINCRBY', fleet, 'token', '1')
      end
      r[OWNER], r[OFFER], r[SINCE] = me, 0, 0
      leaveQueue(r)
      put(host, r)
    end
    return describeOwned(r)
  end

  -- Removes this session from a host. If it owns the host or was offered it,
  -- the host is offered to the queue.
  local function leave(host, r)
    leaveQueue(r)
    if r[OWNER] == me or r[OWNER] == 0 and r[OFFER] == me then
      r[OWNER] = 0
      offer(host, r)
    end
    put(host, r)
  end

  -- Stores the state of a host. Returns the host, or nil if this session no
  -- longer owns the host with the given token.
  local function store(host, token, state, keep, flight, lateNumber, stateAge)
    local r = get(host)
    if r and r[OWNER] == me and r[TOKEN] == tonumber(token) then
      r[AT], r[KEEP], r[STATE] = age - stateAge, tonumber(keep), state
      r[FLIGHT][me] = flight ~= '0' and tonumber(flight) or nil
      for id, late in pairs(r[LATE]) do
        if late[1] <= tonumber(lateNumber) then
          r[LATE][id] = nil
        end
      end
      return r
    end
  end

  local operations = {}

  function operations.want(host)
    local r = get(host)
    if not r and age < opens then
      return {'closed', opens - age}
    end
    r = r or newHost()
    local offered = r[OFFER] ~= 0 and r[OFFER] ~= me and age - r[SINCE] <= offerTime
    if r[OWNER] == me or r[OWNER] == 0 and not offered then
      return own(host, r)
    end
    local holder = r[OWNER] + r[OFFER] -- one of the two is 0
    if not queueIndex(r) and #r < QUEUE + maxQueue - 1 then
      r[#r + 1] = me
      put(host, r)
      notify(holder, host)
    end
    return {'other', holder, 0, describe(r)}
  end

  function operations.give(host, ...)
    local r = store(host, ...)
    if r then
      r[LOST] = -1
      leave(host, r)
    end
  end

  function operations.keep(host, ...)
    local r = store(host, ...)
    if r then
      put(host, r)
    end
  end

  function operations.land(host, _, state, keep, flight, _, stateAge)
    local r = get(host)
    if not r and state == '' and flight == '0' then
      return
    elseif not r and age < opens then
      return {'closed'} -- a host that is stored would be handed out
    end
    -- This session may be the owner without knowing it, because the reply to
    -- "want" was lost. Its late state counts as that of any other session.
    r = r or newHost()
    r[FLIGHT][me] = flight ~= '0' and tonumber(flight) or nil
    if state ~= '' then
      local exportedAt = age - stateAge
      r[LATE][me] = {redis.call('HINCRBY', fleet, 'token', '1'), exportedAt, exportedAt + keep, state}
    end
    put(host, r)
    if r[OWNER] ~= 0 and r[OWNER] ~= me then
      notify(r[OWNER], host)
    end
  end

  function operations.register(host, _, state, keep, _, _, stateAge)
    local r = get(host)
    if not r and age < opens then
      r = {me, 0, 0, 0, age - stateAge, tonumber(keep), -1, state, {}, {}}
      put(host, r)
    end
    if r and r[OWNER] == me then
      return own(host, r)
    end
  end

  function operations.drop(host)
    local r = get(host)
    if r and r[OWNER] == me then
      -- The member is closed with requests in flight, or it does not know
      -- that it owns the host: it may have owned the host in the previous
      -- epoch, registered it in this one, and then sent another request.
      markIncomplete(r)
    end
    if r then
      leave(host, r)
    end
  end

  -- Ends a session unless it has made another call after the given one.
  function operations.finish(id, callNumber)
    if redis.call('HGET', fleet, 's' .. id) == callNumber then
      redis.call('HDEL', fleet, 's' .. id)
      redis.call('ZREM', sessions, id)
      live, silences[tonumber(id)] = live - 1, false
      redis.call('HSET', fleet, 'live', live)
    end
  end

  results = {}
  for i = 12, #ARGV, 8 do
    results[#results + 1] = operations[ARGV[i]](unpack(ARGV, i + 1, i + 7)) or 0
  end

  -- Each time that a host is stored, two random hosts are inspected, up to 64
  -- in a call, so that hosts are deleted as fast as they are stored. If no host
  -- is stored any more, the others are inspected with every eighth call.
  local inspections = 2 * stored
  if inspects then
    inspections = inspections + 8
  end
  if inspections > 0 then
    -- A negative count means that a host may be returned twice, which is
    -- faster.
    local some = redis.call('HRANDFIELD', hosts, -math.min(inspections, 64), 'WITHVALUES')
    for i = 1, #some, 2 do
      local host = some[i]
      if host ~= '' then
        packed[host] = packed[host] or some[i + 1]
        get(host)
      end
    end
  end
  if invalidHost then
    redis.call('HDEL', fleet, 'epoch') -- the owner of the host is unknown, so a new epoch has to begin
    return {'epoch', '1', invalidHost}
  end
end

-- Each silent session is followed by the number of its latest call. Members
-- measure the silence themselves, so the limit only has to exceed the usual
-- silence of live sessions.
local silent = {}
if heartbeat then
  local ids = redis.call('ZRANGEBYSCORE', sessions, '-inf', age - 1500, 'LIMIT', 0, 1000)
  if #ids > 0 then
    local fields = {}
    for i, id in ipairs(ids) do
      fields[i] = 's' .. id
    end
    for i, callNumber in ipairs(redis.call('HMGET', fleet, unpack(fields))) do
      silent[2 * i - 1] = tonumber(ids[i])
      silent[2 * i] = tonumber(callNumber or 0)
    end
  end
end
if testsSubscription then
  redis.pcall('PUBLISH', prefix .. epoch .. ':' .. ARGV[5], epoch)
end
if till ~= storedTill then
  redis.call('HSET', fleet, 'till', till)
end

-- The keys expire when their state is no longer needed. A margin of a minute
-- avoids that most calls change this time.
local needed = clock + math.max(hour, till - age)
if needed > tonumber(expires or 0) then
  local minute = 60000 -- in ms
  for _, key in ipairs(KEYS) do
    redis.call('PEXPIRE', key, needed + minute - clock)
  end
  redis.call('HSET', fleet, 'expires', needed + minute)
end
return {'ok', lease, results, epoch, me, silent, latestSettings}
