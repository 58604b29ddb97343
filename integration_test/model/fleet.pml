/*
 * The protocol of a fleet: a host has one owner at a time.
 *
 * The members of a fleet share an engine (Redis or Valkey). This file models
 * what the members send to the engine and what the engine answers, for one
 * host, as in politeness/redislimit. Spin tries every order in which things can
 * happen.
 *
 * Time is counted in ticks. Between two steps any number of ticks may pass, or
 * none. So the model needs no rules for a member that is slow, stopped
 * (SIGSTOP), cut off or killed: the member's next step comes late, or never,
 * and its clocks go on meanwhile. No two clocks are compared: each is a number
 * of ticks that its owner counts down or up. (With LIVE, a member does all that
 * is due in each tick, and only the faults below stop or kill it.)
 *
 * A call can go wrong in these ways: the engine runs it late, the answer comes
 * late, or the caller gives up and goes on, and the engine runs the call after
 * that. Only one call at a time may be on its way like that. The others are
 * answered at once. (With LIVE, all are, but calls and answers may be lost.)
 *
 * The properties:
 *
 *   pace      no request starts sooner than Interval after the last one,
 *             whoever made that (the assertion in "Start a request")
 *   owners    no two members own the host at the same time and both trust
 *             their sessions (the assertion in "hear")
 *   served    every member that runs gets the host again and again, if the
 *             scheduler is fair (-DLIVE, the formula at the end)
 *   silence   the host never rests for longer than the faults explain
 *             (-DSILENCE, the assertion in "Clock")
 *
 * With -DAGAIN, a member may change its mind: it may want the host that it is
 * giving away, no longer want a host that it has asked for, and want it again.
 *
 * model_test.go checks all of these. It also checks the mutants: each of them
 * takes one rule away, and then a property must break. A mutant is a -D switch:
 *
 *   safety, with one loss of the engine's state
 *     NO_COMPARE           a session is ended without comparing its counter
 *     NO_EPOCH_WAIT        a new epoch gives free hosts away at once
 *     NO_REST_AFTER_EPOCH  an epoch's first owner does not wait an interval
 *     NO_REST_AFTER_DEAD   a dead owner's successor does not wait an interval
 *     TRUST_FROM_ANSWER    trust counts from the answer, not from the sending
 *     TRUST_FROM_JOIN      joining prolongs the trust in a host not entered yet
 *     WATCH_FROM_SENDING   patience counts from the sending, not the answer
 *     CLOCK_UNBOUNDED      the epoch's age grows by all that the server's clock
 *                          says, while members have sessions
 *     START_AFTER_LEASE    an owner starts although its lease has run out
 *     TOKEN_WITHOUT_EPOCH  a give of an earlier epoch counts in this one
 *     ENTER_UNSURE         a host is entered although its give may have run
 *     LATE_ENTER           a host is entered that another has owned since then
 *     FORGET_START         a member that loses the host forgets its last start
 *   safety, with AGAIN
 *     LATE_CALL            a call that comes after a later one runs
 *     NO_REST_AFTER_DROP   the next owner of a host that was dropped does not
 *                          wait an interval
 *   liveness
 *     FORGETFUL            only the first answer says what a session owns
 *     FIRST_IN_LIST        a give goes to the first waiter, not to the next one
 *     ANY_WAITER           a give may go to a waiter not seen for a long time
 *   liveness, with AGAIN
 *     FORGET_GIVE          a member that wants the host again, and then no
 *                          longer, forgets a give that is not confirmed
 *   silence
 *     GIVE_WITHOUT_ACCEPT  a give makes the waiter the owner, dead or alive
 *
 * One failure cannot be prevented, and the model must find it as well:
 *     ALL_CUT_OFF          all members that knew the earlier epoch are cut off
 *                          while new members begin another one
 *
 * The model leaves out: a second engine that some members still reach (a
 * primary that was cut off and does not know it); a process that is stopped
 * between its last look at the clock and its send; members of another version,
 * whose calls change nothing until the sessions of the others have ended, and
 * then mean a loss of the state (with knew); and clocks that run at different
 * speeds. Because of such clocks, a session is dead only after one and a half
 * leases.
 *
 * To see how a mutant fails:
 *
 *   spin -a -DAGAIN -DLATE_CALL fleet.pml && gcc -O2 -DSAFETY -o pan pan.c
 *   ./pan -m600 && spin -t -T -DAGAIN -DLATE_CALL fleet.pml
 */

/*
 * Times, in ticks. They have the order of the times in redislimit, not their
 * ratios: a lease is two ticks, and a beat and a second are one.
 */
#define Lease 2
#define Patience 3 /* 1.5 leases: then a session that stands still is dead */
#define Interval 3
#define EpochNew 1 /* stands for two seconds, which is less than a lease */
#define EpochOld 3 /* stands for a lease and a second */

/* These say how much may go wrong. */
#ifndef Losses
#define Losses 1 /* of the engine's state */
#endif
#ifndef Steps
#define Steps 1 /* of the server's clock: how often it is set */
#endif
#ifndef Slow
#define Slow 1 /* the calls of members 0 to Slow-1 may be slow */
#endif
#ifndef Faults
#define Faults 1 /* with LIVE: members killed, stopped; calls, answers lost */
#endif
#ifndef Minds
#define Minds 1 /* with LIVE and AGAIN: how often a member stops wanting */
#endif

#ifdef LIVE
#define N 3
#else
#define N 2
#endif
#define Sessions 7 /* their numbers are 1 to 6 */
#define Unknown 9  /* a rest: the host has no record in this epoch */

mtype = { Nothing, Owned, Leaving };         /* what a member has */
mtype = { Join, Beat, Give, Bury, Leave };   /* what a call does */
mtype = { Yes, NoSession, OtherEpoch };      /* how it is answered */

/*
 * The engine's state. When it is lost, a new epoch begins. The number of the
 * epoch stands for its random id and for the run_id of the server.
 */
byte epoch = 1;
byte age;            /* how old the epoch is, as far as the engine counts it */
byte gap;            /* what its clock says has passed since the last call */
bit knew;            /* a member that knew an earlier epoch has joined */
bit alive[Sessions]; /* sessions that have not ended; see renew */
byte owner;          /* the owner's session; 0: the host is free */
byte token;          /* of this ownership; tokens begin anew with each epoch */
byte rest = Unknown; /* how long the host must rest after its last owner */
#ifdef LIVE
/* Who waits. Only LIVE needs it: safety does not depend on whose turn it is. */
bit waiting[Sessions];
byte lately[Sessions]; /* for how long a session still counts as seen lately */
byte offered; /* the session that may accept the host; 0: none */
byte held;    /* how long the host is held for that session */
#endif

typedef Member {
	byte epoch;    /* the epoch that it joined last; 0: none */
	byte session;  /* 0: none, so it has to join */
	byte trust;    /* how long it may still start; 0 without the host */
	mtype place = Nothing;
	byte token;    /* 0 with Owned: the host is not entered yet */
	byte rest;     /* how long until the next start */
	byte watched;  /* the owner's session, while its counter stands still */
	byte patience; /* how long until that session is dead */
	bit closed
#ifdef AGAIN
	;
	bit content;   /* it does not want the host */
	bit cancel     /* the engine has to be told that it does not */
#endif
#ifdef LIVE
	;
	bit beaten;    /* it has sent its beat in this tick */
	bit others;    /* it has heard that others wait */
	bit started;   /* it has made a request since it got the host */
	bit known;     /* the engine may know that it wants the host */
	bit stopped, killed
#endif
};
Member member[N];

/* A call. Each one except Join names the epoch and session of its caller. */
typedef Call {
	mtype kind;
	byte epoch, session, token;
	byte rest;    /* Give, Leave, give: the rest that is still due */
	byte watched; /* Bury: the session that is dead */
	byte trust;   /* how long to trust a success, from the sending on */
	bit give;     /* Beat: an earlier Give is not confirmed */
	bit cancel;   /* Beat: the host is no longer wanted */
	bit want;     /* Beat: the host is wanted */
	bit enter;    /* Beat: the caller enters the host into the new epoch */
	bit knew;     /* Join: the caller knew an earlier epoch */
	bit stale;    /* a later call of its session has run */
	bit blind     /* Bury: the counter has moved since */
};
typedef Answer {
	mtype says;
	byte epoch, session; /* in answer to a Join */
	byte token, rest;         /* token is 0 unless the caller owns the host */
	byte watched;             /* the session of another owner; 0: none */
	bit others                /* others wait for the host */
};

Call now; Answer heard;  /* the call that is answered at once */
Call air; Answer reply;  /* the call that is on its way */
byte caller = N;         /* who waits for reply; N: nobody (any more) */

/* An observer of the host sees these. */
byte sinceStart = Interval;
byte losses, faults, steps;
#if defined(LIVE) && defined(AGAIN)
byte minds; /* how often a member has stopped wanting the host */
#endif
#ifdef LIVE
byte last = N; /* who made the last start */
#endif
#ifdef SILENCE
/*
 * silence is how long the host has rested, and limit is how long it may rest.
 * limit is Usual. After a loss or a fault of the host's owner it is Long, until
 * the next start. A fault of another member does not change it.
 */
#ifndef Usual
#define Usual 5
#endif
#ifndef Long /* Patience begins only when the session is silent for two ticks */
#define Long 13
#endif
byte silence, limit = Usual;
#define excuse() limit = Long
#else
#define excuse() skip
#endif
#define owns(m) (member[m].place != Nothing || \
	member[m].epoch == epoch && member[m].session != 0 && \
	member[m].session == owner)

byte i, s, t, was; /* variables of loops and the like; 0 between uses */

#define my member[me]
#ifdef AGAIN
#define wants(m) (member[m].place != Owned && !member[m].content)
#define content(m) member[m].content
#else
#define wants(m) (member[m].place == Nothing)
#define content(m) false
#endif
#define valid(m) (member[m].place == Owned && member[m].trust > 0)
#ifdef LIVE
#define some(p, v) (p(0, v) || p(1, v) || p(2, v))
#define twoOwners (valid(0) + valid(1) + valid(2) > 1)
#define off(m) (member[m].closed || member[m].killed)
#define running(m) (!off(m) && !member[m].stopped)
#else
#define some(p, v) (p(0, v) || p(1, v))
#define twoOwners (valid(0) + valid(1) > 1)
#define off(m) member[m].closed
#define running(m) (!off(m))
#endif

/*
 * A new token is a number that nobody remembers in this epoch. In redislimit
 * it is a number that was never used in the epoch. Here it is the smallest
 * such number, because that gives fewer states. Tokens and sessions of
 * different epochs may be equal, as in redislimit.
 */
#define tokenOf(m, v) (member[m].epoch == epoch && member[m].token == v)
#define tokenUsed(v) (some(tokenOf, v) || reply.token == v || \
	air.epoch == epoch && air.token == v)
#define sessionOf(m, v) (member[m].epoch == epoch && \
	(member[m].session == v || member[m].watched == v))
#define sessionUsed(v) (alive[v] || owner == v || some(sessionOf, v) || \
	reply.session == v || reply.watched == v || \
	air.epoch == epoch && (air.session == v || air.watched == v))

/* These are the rules that the mutants take away. */
#ifdef TOKEN_WITHOUT_EPOCH
#define wrongEpoch(c) (c.epoch != epoch && c.kind != Give)
#else
#define wrongEpoch(c) (c.epoch != epoch)
#endif
#ifdef LATE_CALL
#define tooLate(c) false
#else
#define tooLate(c) c.stale
#endif
#ifdef NO_COMPARE
#define stoodStill(c) true
#else
#define stoodStill(c) (!c.blind)
#endif
#ifdef NO_REST_AFTER_DEAD
#define restAfterDead 0
#else
#define restAfterDead Interval
#endif
#ifdef NO_REST_AFTER_DROP
#define restAfterDrop rest
#else
#define restAfterDrop Interval
#endif
#ifdef NO_REST_AFTER_EPOCH
#define restAfterEpoch 0
#else
#define restAfterEpoch (knew -> Interval : 0)
#endif
#ifdef LATE_ENTER
#define mayEnter (owner == 0)
#else
#define mayEnter (owner == 0 && rest == Unknown)
#endif
#ifdef START_AFTER_LEASE
#define trusted(m) true
#else
#define trusted(m) (member[m].trust > 0)
#endif

/*
 * The engine gives a free host away only when the epoch is old enough by the
 * members' clocks. It is old enough after two seconds, in which a member that
 * knew an earlier epoch can join. If such a member has joined, it is old enough
 * after a lease and a second. By then every owner of the earlier epoch has
 * entered the host that it owns, or starts no more requests. If there is a
 * member that knew an earlier epoch, the model assumes that one joins in time
 * (oneCameInTime).
 */
#ifdef LIVE
#define knewEarlier(m, e) (member[m].epoch != 0 && member[m].epoch != e && \
	running(m))
#else
#define knewEarlier(m, e) (member[m].epoch != 0 && member[m].epoch != e)
#endif
#define oneCameInTime (knew || !some(knewEarlier, epoch))
#ifdef NO_EPOCH_WAIT
#define open true
#elif defined(ALL_CUT_OFF)
#define open (age >= opens)
#else
#define open (age >= opens && oneCameInTime)
#endif

/*
 * An answer names only sessions that have been silent for a while by the
 * engine's clock. Without LIVE, a beat may come at any time, so this makes no
 * difference to safety: a member that is not told yet watches later.
 */
#ifdef LIVE
#define isSilent(v) (lately[v] == 0)
#else
#define isSilent(v) true
#endif

#define free (owner == 0 || !alive[owner])
#ifdef LIVE
#define heldForAnother (offered != 0 && offered != s && held > 0 && \
	alive[offered])
#else
#define heldForAnother false
#endif

inline clearCall(c) {
	c.kind = 0; c.epoch = 0; c.session = 0; c.token = 0; c.rest = 0;
	c.watched = 0; c.trust = 0; c.give = 0; c.cancel = 0; c.want = 0; c.enter = 0;
	c.knew = 0;
	c.stale = 0; c.blind = 0
}

inline clearAnswer(a) {
	a.says = 0; a.epoch = 0; a.session = 0; a.token = 0; a.rest = 0;
	a.watched = 0; a.others = 0
}

/*
 * Each call that runs moves the counter of its session s. Then earlier calls of
 * the session do not run any more, and members that watch the session begin
 * anew. Only this matters, not the number in the counter. So the model has no
 * counter, only the bits stale and blind.
 */
inline renew() {
#ifdef LIVE
	lately[s] = 2;
#endif
	if
	:: air.epoch == epoch && air.session == s -> air.stale = 1
	:: else
	fi;
	if
	:: air.epoch == epoch && air.watched == s -> air.blind = 1
	:: else
	fi;
#ifndef NO_COMPARE
	if :: reply.watched == s -> reply.watched = 0 :: else fi;
	for (i : 0 .. N-1) {
		if
		:: member[i].epoch == epoch && member[i].watched == s ->
			member[i].watched = 0; member[i].patience = 0
		:: else
		fi
	}
#endif
}

/* Session s becomes the owner of the host, which must rest for r first. */
inline becomes(r) {
	owner = s; rest = r;
	t = 1; do :: tokenUsed(t) -> t++ :: else -> break od;
	token = t; t = 0;
#ifdef LIVE
	offered = 0; held = 0; waiting[s] = 0
#endif
}

#ifdef LIVE
/*
 * The host is offered to a waiter that was seen within the last two ticks: the
 * next such waiter after the giver, in a ring of all sessions. The waiter has
 * to accept the host by a call.
 */
#ifdef ANY_WAITER
#define mayBeNext(v) alive[v]
#else
#define mayBeNext(v) (alive[v] && lately[v] > 0)
#endif
inline offer() {
	for (i : 1 .. Sessions-1) {
#ifdef FIRST_IN_LIST
		t = i;
#else
		t = 1 + (s - 1 + i) % (Sessions - 1);
#endif
		if
		:: offered == 0 && t != s && waiting[t] && mayBeNext(t) -> offered = t
		:: else
		fi
	}
	t = 0;
	if :: offered != 0 -> held = 2 :: else fi;
#ifdef GIVE_WITHOUT_ACCEPT
	if
	:: offered != 0 ->
		t = s; s = offered; becomes(rest); s = t; t = 0
	:: else
	fi
#endif
}
#endif

/* Session s no longer owns the host. */
inline freed() {
	owner = 0; token = 0;
#ifdef LIVE
	offer()
#endif
}

/*
 * Session s no longer wants the host. If it owns the host, its member does not
 * know that. But its member may have made a request: as the owner in the
 * previous epoch, after it had entered the host into this one.
 */
inline dropped() {
#ifdef LIVE
	waiting[s] = 0;
	if
	:: owner == s || offered == s && owner == 0 ->
		offered = 0; rest = (owner == s -> restAfterDrop : rest); freed()
	:: else
	fi
#else
	if :: owner == s -> rest = restAfterDrop; freed() :: else fi
#endif
}

#define refused(c) (!alive[c.session] || tooLate(c))

/*
 * This gives fewer states. A late call is forgotten if the engine will refuse
 * it in any case.
 */
inline forgetLate() {
	if
	:: caller == N && air.kind != 0 &&
	   (air.epoch == epoch -> refused(air) : wrongEpoch(air)) -> clearCall(air)
	:: else
	fi
}

/*
 * The epoch's age grows by what the server's clock says has passed since the
 * last call: by a tick at most, or by all of it if the epoch is open and nobody
 * has a session. Ages beyond EpochOld make no difference.
 */
#define opens (knew -> EpochOld : EpochNew)
#define aSession (alive[1] || alive[2] || alive[3] || alive[4] || alive[5] || \
	alive[6])
inline grow() {
#ifdef CLOCK_UNBOUNDED
	age = age + gap;
#else
	age = age + (gap > 1 && (aSession || !open) -> 1 : gap);
#endif
	if :: age > EpochOld -> age = EpochOld :: else fi;
	gap = 0
}

/* The engine runs call c. */
inline script(c, a) {
	s = c.session;
	printf("    engine: %e of session %d in epoch %d", c.kind, s, c.epoch);
	if
	:: c.kind == Join ->
		/* A new session. A late Join does no harm: it enters no host. */
		do :: sessionUsed(s) -> s = s + N :: else -> break od;
		knew = knew || c.knew;
		grow();
		alive[s] = 1;
		a.says = Yes; a.epoch = epoch; a.session = s
	:: c.kind != Join && wrongEpoch(c) -> a.says = OtherEpoch
	:: c.kind != Join && !wrongEpoch(c) && refused(c) -> a.says = NoSession
	:: else ->
		a.says = Yes;
		renew();
		grow();
		if
		:: owner == s && c.token == token -> rest = 0 /* the owner knows it */
		:: else
		fi;
		was = owner;
		if
		:: (c.kind == Give || c.kind == Leave || c.give) &&
		   owner == s && c.token == token ->
			rest = c.rest; freed()
		:: else
		fi;
		if :: c.cancel -> dropped() :: else fi;
		if
		:: c.kind == Beat && c.enter && mayEnter -> becomes(0)
		:: c.kind == Beat && c.want && owner != s ->
			if
			:: free && open && !heldForAnother ->
				if
				:: owner != 0 -> becomes(restAfterDead)
				:: owner == 0 && rest == Unknown -> becomes(restAfterEpoch)
				:: else -> becomes(rest)
				fi
			:: else ->
#ifdef LIVE
				waiting[s] = 1
#endif
			fi
		:: c.kind == Bury && stoodStill(c) -> alive[c.watched] = 0
		:: else
		fi;
		if :: c.kind == Leave -> alive[s] = 0 :: else fi;
		if
#ifdef FORGETFUL
		:: owner == s && (was != s || c.token == token) ->
#else
		:: owner == s && (c.want || c.enter || c.token == token) ->
#endif
			a.token = token; a.rest = rest
		:: owner != s && owner != 0 && alive[owner] && c.kind == Beat &&
		   isSilent(owner) ->
			a.watched = owner
		:: else
		fi;
#ifdef LIVE
		for (i : 1 .. Sessions-1) {
			if :: i != s && waiting[i] && alive[i] -> a.others = 1 :: else fi
		}
#endif
	fi;
	i = 0; s = 0; t = 0; was = 0;
	forgetLate();
	printf(" -> %e; epoch %d age %d owner %d token %d rest %d\n",
		a.says, epoch, age, owner, token, rest)
}

/* The engine is flushed, restarted empty, or replaced by an older replica. */
inline lose() {
	losses++; printf("STATE LOST\n");
	epoch++; age = 0; gap = 0; knew = 0; owner = 0; token = 0; rest = Unknown;
	for (i : 0 .. Sessions-1) {
		alive[i] = 0;
#ifdef LIVE
		waiting[i] = 0; lately[i] = 0
#endif
	}
	i = 0;
#ifdef LIVE
	offered = 0; held = 0;
#endif
	forgetLate()
}

/* The member no longer has the host. It still remembers its last start. */
inline drop() {
	my.place = Nothing; my.token = 0; my.trust = 0;
#ifdef FORGET_START
	my.rest = 0
#endif
#ifdef LIVE
	my.others = 0; my.started = 0
#endif
}

inline unwatch() { my.watched = 0; my.patience = 0 }

/* Member me receives answer a to its call c. */
inline receive(c, a) {
#ifdef AGAIN
	/* The engine knows nothing of a session that has ended. */
	if :: a.says != Yes || c.cancel -> my.cancel = 0 :: else fi;
#endif
	if
	:: my.closed
	:: !my.closed && a.says == OtherEpoch ->
		my.session = 0; my.token = 0; unwatch();
		if
#ifdef ENTER_UNSURE
		:: my.place == Leaving -> my.place = Owned
#else
		/* The give did not run, so the host is still the giver's. */
		:: c.kind == Give -> my.place = Owned
#endif
		:: else
		fi
	:: !my.closed && a.says == NoSession ->
		my.session = 0; drop(); unwatch()
	:: !my.closed && a.says == Yes && c.kind == Join ->
		my.session = a.session; my.epoch = a.epoch;
		if
		/* The give may have run, so another may own the host by now. */
		:: my.place == Leaving -> drop()
#ifdef TRUST_FROM_JOIN
		:: my.place == Owned -> my.trust = c.trust
#endif
		:: else
		fi;
#ifdef LIVE
		my.beaten = 0
#endif
	:: !my.closed && a.says == Yes && c.kind != Join && a.token != 0 ->
		my.place = Owned; my.token = a.token;
		if :: my.rest < a.rest -> my.rest = a.rest :: else fi;
#ifdef TRUST_FROM_ANSWER
		my.trust = Lease;
#else
		if :: my.trust < c.trust -> my.trust = c.trust :: else fi;
#endif
#ifdef LIVE
		my.others = a.others;
#endif
		unwatch()
	:: else ->
		drop();
		if
		:: a.watched != 0 && my.watched != a.watched ->
			my.watched = a.watched;
#ifdef WATCH_FROM_SENDING
			my.patience = Patience - Lease + c.trust
#else
			my.patience = Patience
#endif
		:: else
		fi
	fi
}

inline hear(c, a) {
	receive(c, a);
	printf("%d hears %e to %e: %e token %d rest %d trust %d\n",
		me, a.says, c.kind, my.place, my.token, my.rest, my.trust);
	clearCall(c); clearAnswer(a);
	assert(!twoOwners)
}

inline say(k) {
	now.kind = k; now.epoch = my.epoch; now.session = my.session;
	now.token = my.token
}

inline send() {
	caller = me; printf("%d sends %e\n", me, now.kind);
	air.kind = now.kind; air.epoch = now.epoch; air.session = now.session;
	air.token = now.token; air.rest = now.rest;
	air.watched = now.watched; air.trust = now.trust; air.give = now.give;
	air.cancel = now.cancel; air.want = now.want; air.enter = now.enter;
	air.knew = now.knew;
	clearCall(now)
}

/*
 * For safety, a member may do anything that is allowed, at any time. With LIVE,
 * it does in each tick all that is due, and gives the host away when others
 * wait and it has made a request.
 */
#define mayStart(m) (member[m].place == Owned && member[m].rest == 0 && \
	trusted(m))
#define mayBury(m) (member[m].session != 0 && member[m].watched != 0 && \
	member[m].patience == 0)
#ifdef LIVE
#define mayBeat(m) (member[m].session != 0 && !member[m].beaten)
#define mayGive(m) (member[m].session != 0 && member[m].token != 0 && \
	member[m].place == Owned && member[m].others && member[m].started)
#define due(m, v) (running(m) && (member[m].session == 0 || mayBeat(m) || \
	mayStart(m) || mayGive(m) || mayBury(m)))
#else
#define mayBeat(m) (member[m].session != 0)
#define mayGive(m) (member[m].session != 0 && member[m].token != 0 && \
	member[m].place == Owned)
#endif
#define idle (caller != me && running(me))

#ifdef AGAIN
/* Only member 0 changes its mind, because that gives fewer states. */
#ifdef LIVE
#define mayTire(m) (m == 0 && wants(m) && minds < Minds)
#else
#define mayTire(m) (m == 0 && wants(m))
#endif

/* Member me no longer wants the host. */
inline tire(tell) {
	printf("%d no longer wants the host\n", me);
	my.content = 1; my.cancel = my.cancel || tell;
#ifdef LIVE
	my.known = 0; minds++;
#endif
#ifdef FORGET_GIVE
	if :: my.place == Leaving -> drop() :: else fi
#endif
}
#endif

proctype Crawler(byte me) {
	do
#ifdef LIVE
	/* A fault. */
	:: d_step { faults < Faults && !off(me) ->
		faults++; printf("%d is KILLED\n", me);
		if :: owns(me) -> excuse() :: else fi;
		my.killed = 1; my.stopped = 0; my.rest = 0; drop(); unwatch() }
	:: d_step { faults < Faults && running(me) ->
		faults++; printf("%d is STOPPED\n", me);
		if :: owns(me) -> excuse() :: else fi;
		my.stopped = 1 }
	:: d_step { my.stopped -> my.stopped = 0; printf("%d goes on\n", me) }
#endif

	/* Start a request. */
	:: d_step { running(me) && mayStart(me) ->
		printf("%d STARTS\n", me);
		assert(sinceStart >= Interval);
		sinceStart = 0; my.rest = Interval;
#ifdef LIVE
		my.started = 1; last = me;
#endif
#ifdef SILENCE
		silence = 0; limit = Usual
#endif
		}

#ifdef AGAIN
	/*
	 * Change its mind. If the engine may know that the host was wanted, it has
	 * to be told. Otherwise it may be told, but need not (with LIVE).
	 */
	:: d_step { idle && mayTire(me) && my.session != 0 -> tire(1) }
#ifdef LIVE
	:: d_step { idle && mayTire(me) && !my.known -> tire(0) }
#endif
	:: d_step { idle && my.content -> my.content = 0 }
#endif

	/* Make a call. */
	:: atomic {
		if
		:: idle && my.session == 0 ->
			say(Join);
			now.session = 1 + me; /* or the engine takes the next free number */
			now.epoch = 0; now.token = 0;
			now.knew = (my.epoch != 0);
			now.trust = Lease
		:: idle && mayBeat(me) ->
			/* The host of an earlier epoch is entered only while trusted. */
			if
			:: my.place == Owned && my.token == 0 && my.trust == 0 -> drop()
			:: else
			fi;
			say(Beat);
			now.enter = (my.place == Owned && my.token == 0);
			now.give = (my.place == Leaving);
			now.rest = (now.give -> my.rest : 0);
			now.want = wants(me);
			now.trust = Lease;
#ifdef AGAIN
			now.cancel = my.cancel;
#ifdef LIVE
			my.known = now.want;
#endif
#endif
#ifdef LIVE
			my.beaten = 1
#endif
		:: idle && mayGive(me) ->
			my.place = Leaving; /* it starts nothing before the answer */
			say(Give); now.rest = my.rest
		:: idle && mayBury(me) ->
			say(Bury); now.watched = my.watched; unwatch()
#if !defined(LIVE) && !defined(AGAIN) /* AGAIN has enough states without it */
		:: idle && my.session != 0 ->
			say(Leave); now.rest = my.rest;
			my.closed = 1; my.rest = 0; drop(); unwatch()
#endif
		fi;
		if
		:: d_step { true -> script(now, heard); hear(now, heard) }
#ifdef LIVE
		:: d_step { faults < Faults && now.kind != Join ->
			faults++; printf("%d: its answer is lost\n", me);
			script(now, heard); clearCall(now); clearAnswer(heard) }
		:: d_step { faults < Faults && now.kind != Join ->
			faults++; printf("%d: its %e is lost\n", me, now.kind);
			clearCall(now) }
#else
		:: d_step { me < Slow && caller == N && air.kind == 0 ->
			send();
			/* Nobody waits for the answers to these two. */
			if
			:: air.kind == Bury || air.kind == Leave -> caller = N
			:: else
			fi }
#endif
		fi }

#ifndef LIVE
	/* The call on its way runs, its answer comes, or it is given up. */
	:: d_step { caller == me && reply.says == 0 -> script(air, reply) }
	:: d_step { caller == me && reply.says != 0 -> caller = N; hear(air, reply) }
	:: d_step { caller == me && (reply.says != 0 || air.kind == Join) ->
		caller = N; printf("%d gives up %e\n", me, air.kind);
		/* Nobody knows the new session, so it does nothing: end it. */
		if
		:: air.kind == Join && reply.says != 0 && reply.epoch == epoch ->
			alive[reply.session] = 0
		:: else
		fi;
		clearCall(air); clearAnswer(reply) }
	:: d_step { caller == me && reply.says == 0 && air.kind != Join ->
		caller = N; printf("%d gives up %e, which may come late\n", me, air.kind);
		air.trust = 0; forgetLate() }
#endif
	od
}

#define down(v) if :: v > 0 -> v-- :: else fi

active proctype Clock() {
	atomic { for (i : 0 .. N-1) { run Crawler(i) }; i = 0 };
	do
	:: d_step { losses < Losses -> lose(); excuse() }
	:: d_step { steps < Steps && age < EpochOld -> steps++;
		printf("the server's clock is SET ahead\n"); gap = EpochOld }
	:: d_step { steps < Steps && age < EpochOld -> steps++;
		printf("the server's clock is SET BACK\n"); gap = 0 }
#ifdef LIVE
	:: d_step { !some(due, 0) ->
#else
	:: d_step { true ->
#endif
		printf("tick\n");
		for (i : 0 .. N-1) {
			down(member[i].trust); down(member[i].rest);
			down(member[i].patience);
#ifdef LIVE
			member[i].beaten = 0;
#endif
		};
		i = 0;
		down(air.trust);
		/* While the epoch is old, its clock makes no difference. */
		if :: age < EpochOld && gap < EpochOld -> gap++ :: else fi;
#ifdef LIVE
		down(held);
		for (i : 1 .. Sessions-1) { down(lately[i]) };
		i = 0;
		if :: held == 0 -> offered = 0 :: else fi;
#endif
#ifdef SILENCE
		silence++;
		assert(silence <= limit);
#endif
		if :: sinceStart < Interval -> sinceStart++ :: else fi }
#ifndef LIVE
	:: d_step { caller == N && air.kind != 0 ->
		printf("LATE "); script(air, reply); clearCall(air); clearAnswer(reply) }
#endif
	od
}

#if defined(LIVE) && !defined(SILENCE)
#define has(m) (last == m || off(m) || member[m].stopped || content(m))
ltl served { []<>has(0) && []<>has(1) && []<>has(2) }
#endif
