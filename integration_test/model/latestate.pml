/*
 * The late states of a fleet: a pause that begins with a request that is in
 * flight when its host changes its owner.
 *
 * The owner of a host stores what it has learned about the host as the host's
 * state. A member that has given the host back, or has lost it, may learn of a
 * pause later, from a request that it still had in flight. It reports the pause
 * as a late state, which the engine (Redis or Valkey) keeps beside the state
 * until an owner has stored a state that includes it. This file models one host
 * and what its members know about its pauses. fleet.pml models who owns the
 * host and when requests start. Spin tries every order in which things can
 * happen.
 *
 * A pause is a bit, and what is known is a set of pauses. In redislimit the
 * latest end of a pause counts, so a pause that is in no set any more is one
 * that a shorter pause has replaced, or that is lost.
 *
 * A call runs in one step, and its reply is received in another one or is lost.
 * In between, the requests of the caller go on. A session may be ended at any
 * time, also if its member is alive. A member that takes no step any more
 * stands for one that was killed.
 *
 * The properties:
 *
 *   kept    a pause that a member has learned and has nothing more to report
 *           about is in the engine from then on, in the state or in a late
 *           state, even if all members die (the assertion in "check")
 *   known   an owner knows all pauses that were in the engine when it became
 *           the owner (the assertion in "hear")
 *
 * latestate_test.go checks these. It also checks the mutants: each of them
 * takes one rule away, and then a property must break. A mutant is a -D switch:
 *
 *   LATE_REPLACES       a late state replaces the state
 *   LATE_REMOVED        each state that an owner stores removes the late states
 *   LATE_IGNORED        a late state of the owner counts as reported but is not
 *                       stored; the owner may not know that it is the owner
 *   LATE_NOT_IMPORTED   a new owner takes over only the state
 *   OWNED_WITHOUT_STORE a new owner does not store a pause that it has learned
 *                       before it knew that it is the owner
 *   LOSE_WITHOUT_REPORT a member that loses the host does not report its pause
 *   GIVE_WITHOUT_TOKEN  a give of an earlier ownership counts
 *
 * The model leaves out: the loss of the engine's state, after which only the
 * members know the pauses; the order of calls that the engine runs late, see
 * LATE_CALL in fleet.pml; and the number of requests in flight.
 *
 * To see how a mutant fails:
 *
 *   spin -a -DLATE_IGNORED latestate.pml && gcc -O2 -DSAFETY -o pan pan.c
 *   ./pan -m600 && spin -t -T -DLATE_IGNORED latestate.pml
 */

#define N 2
#ifndef Sessions
#define Sessions 4 /* their numbers are 1 to 3 */
#endif
#ifndef Pauses
#define Pauses 2
#endif

mtype = { Unowned, Owned, Leaving };

/* The engine's state. */
bit alive[Sessions];
byte owner;          /* the owner's session; 0: none */
byte state;          /* the pauses that the last owner has stored */
byte late[Sessions]; /* for each session, the pauses of its late state */

typedef Member {
	byte session;
	mtype place = Unowned; /* what the member knows of its ownership */
	bit proves;    /* its token is that of the present ownership */
	bit wants;     /* a request waits for the host */
	bit inFlight;  /* a request was started and has not ended */
	byte knows;    /* the pauses that the Limiter knows */
	byte begun;    /* those of its requests that need not be in the engine yet */
	bit changed;   /* the Limiter has called Look, as the owner */
	bit landed;    /* the Limiter has called RequestEnded */
	bit unsaved;   /* record (if Owned) or lateRecord has to be sent */
	byte record, lateRecord;
	byte seen;     /* the sessions whose late states this owner knows */

	/* Until the reply is received or lost: */
	bit calling, refused;
	bit owns;      /* the member is the owner */
	bit newProves;
	byte stored;   /* the pauses of the state */
	byte lates;    /* those of the late states that the member does not know */
	byte sawLates; /* the sessions of all late states */
	byte present   /* all pauses that were in the engine */
};
Member member[N];

byte sessions = N; /* that were started */
byte pauses;       /* that have begun */
byte kept;         /* the pauses that must not be lost */

byte i; /* the variable of loops; 0 between uses */

#define my member[me]
#define bitOf(s) (1 << s)
#define busy (my.calling || my.changed || my.landed)

#ifdef GIVE_WITHOUT_TOKEN
#define sameToken true
#else
#define sameToken my.proves
#endif
#ifdef LATE_REMOVED
#define included(s) true
#else
#define included(s) ((my.seen >> s) & 1)
#endif
#define isNews(s) (my.place != Owned || !((my.seen >> s) & 1))
#ifdef LATE_IGNORED
#define ignored (owner == my.session)
#else
#define ignored false
#endif

#define inEngine(p) (((state | late[1] | late[2] | late[3]) & (p)) == (p))
#define silent(m) (!member[m].calling && !member[m].changed && \
	!member[m].landed && !member[m].unsaved && member[m].place != Leaving)

/* A member that has nothing more to report relies on the engine. */
inline check() {
	for (i : 0 .. N-1) {
		if
		:: silent(i) -> kept = kept | member[i].begun; member[i].begun = 0
		:: else
		fi
	}
	i = 0;
	assert(inEngine(kept))
}

/* The owner stores a state. */
inline store(p) {
	state = p;
	for (i : 1 .. Sessions-1) {
		if :: included(i) -> late[i] = 0 :: else fi
	}
	i = 0
}

/*
 * The late state of my session has a new number, so no owner knows it. Here a
 * late state has no number. Instead, each owner has the set of those it knows.
 */
inline land(p) {
#ifdef LATE_REPLACES
	state = p;
#else
	late[my.session] = p;
#endif
	for (i : 0 .. N-1) {
		member[i].seen = member[i].seen & ~bitOf(my.session);
		member[i].sawLates = member[i].sawLates & ~bitOf(my.session)
	}
	i = 0
}

/*
 * Another ownership begins, or the host is free. Tokens of earlier ownerships
 * prove nothing any more. Here a token is only the bit whether it does.
 */
inline transfer(to) {
	owner = to;
	for (i : 0 .. N-1) { member[i].proves = 0; member[i].newProves = 0 }
	i = 0
}

/* Session s ends. If it owns the host, the host is free. */
inline expire(s) {
	printf("session %d ENDS\n", s);
	alive[s] = 0;
	if :: owner == s -> transfer(0) :: else fi
}

/* The model has no more sessions for member me, which takes no step any more. */
inline stop() {
	my.place = Unowned; my.proves = 0; my.wants = 0; my.inFlight = 0;
	my.knows = 0; my.begun = 0; my.changed = 0; my.landed = 0;
	my.unsaved = 0; my.record = 0; my.lateRecord = 0; my.seen = 0
}

/* The engine runs a call of member me, with all operations that are due. */
inline script() {
	my.calling = 1;
	if
	:: !alive[my.session] ->
		my.refused = 1;
		if :: sessions == Sessions-1 -> stop() :: else fi
	:: else ->
		if
		:: my.place == Leaving && owner == my.session && sameToken ->
			store(my.record); transfer(0)
		:: my.place == Unowned && !my.wants && owner == my.session ->
			transfer(0) /* the operation "drop" */
		:: my.place == Owned && my.unsaved && owner == my.session && sameToken ->
			store(my.record)
		:: else
		fi;
		if
		:: my.place == Unowned && my.unsaved && !ignored -> land(my.lateRecord)
		:: else
		fi;
		if :: my.wants && owner == 0 -> transfer(my.session) :: else fi;
		if
		:: (my.wants || my.place == Owned) && owner == my.session ->
			my.owns = 1; my.newProves = 1; my.stored = state;
			my.present = state | late[1] | late[2] | late[3];
			for (i : 1 .. Sessions-1) {
				if
				:: late[i] != 0 -> my.sawLates = my.sawLates | bitOf(i)
				:: else
				fi;
				if
				:: late[i] != 0 && isNews(i) -> my.lates = my.lates | late[i]
				:: else
				fi
			}
			i = 0
		:: else
		fi
	fi
}

inline forgetCall() {
	my.calling = 0; my.refused = 0; my.owns = 0; my.newProves = 0;
	my.stored = 0; my.lates = 0; my.sawLates = 0; my.present = 0
}

/* Member me loses the host with its session, and starts another session. */
inline rejoin() {
	if
	:: my.place != Unowned ->
		if :: my.place == Owned -> my.unsaved = 0 :: else fi;
		my.place = Unowned; my.proves = 0; my.changed = 0; my.record = 0;
#ifndef LOSE_WITHOUT_REPORT
		if :: my.knows != 0 -> my.landed = 1 :: else fi
#endif
	:: else
	fi;
	my.seen = 0;
	sessions++; my.session = sessions; alive[sessions] = 1
}

/* Member me receives the reply to its call. */
inline hear() {
	if
	:: my.refused -> rejoin()
	:: else ->
		if
		:: my.place == Leaving ->
			my.place = Unowned; my.proves = 0; my.seen = 0
		:: my.place == Unowned -> my.unsaved = 0; my.lateRecord = 0
		:: my.place == Owned -> my.unsaved = 0
		fi;
		my.record = 0;
		if
		:: my.owns && my.place != Owned ->
			my.place = Owned; my.unsaved = 0; my.lateRecord = 0;
#ifdef LATE_NOT_IMPORTED
			my.lates = 0;
#endif
			/* A pause that the engine has not in its state is stored next. */
#ifndef OWNED_WITHOUT_STORE
			if
			:: my.lates != 0 || (my.knows & ~my.stored) != 0 -> my.changed = 1
			:: else
			fi;
#endif
			my.knows = my.knows | my.stored | my.lates;
			assert((my.knows & my.present) == my.present);
			my.proves = my.newProves; my.seen = my.sawLates;
			my.inFlight = 1 /* a request starts */
		:: my.owns && my.place == Owned ->
			if :: my.lates != 0 -> my.changed = 1 :: else fi;
			my.knows = my.knows | my.lates;
			my.seen = my.seen | my.sawLates
		:: else
		fi
	fi;
	forgetCall()
}

proctype Crawler(byte me) {
end_crawler:
	do
	/* The Limiter. */
	:: d_step { my.inFlight && pauses < Pauses && (pauses > 0 || me == 0) ->
		printf("%d learns of pause %d\n", me, pauses);
		my.knows = my.knows | bitOf(pauses); my.begun = my.begun | bitOf(pauses);
		pauses++;
		if :: my.place == Owned -> my.changed = 1 :: else -> my.landed = 1 fi;
		check() }
	:: d_step { !my.calling && my.place != Owned && !my.wants -> my.wants = 1 }
	:: d_step { !my.calling && my.place != Owned && my.wants -> my.wants = 0 }
	:: d_step { my.place == Unowned && !my.wants && !my.landed && my.inFlight ->
		printf("%d has nothing in flight and forgets the host\n", me);
		my.inFlight = 0; my.knows = 0 }

	/* The member handles what the Limiter has called, between its calls. */
	:: d_step { !my.calling && my.changed ->
		my.changed = 0;
		if
		:: my.place == Owned -> my.record = my.knows; my.unsaved = 1
		:: else
		fi;
		check() }
	:: d_step { !my.calling && my.landed ->
		my.landed = 0;
		if
		:: my.place != Owned -> my.lateRecord = my.knows; my.unsaved = 1
		:: else
		fi;
		check() }
	:: d_step { !my.calling && my.place == Owned ->
		printf("%d gives the host back\n", me);
		my.place = Leaving; my.record = my.knows; my.unsaved = 0;
		my.changed = 0; my.lateRecord = 0; my.wants = 0;
		check() }

	/* Calls. */
	:: d_step { !busy ->
		script(); check();
		printf("%d calls: owner %d state %d late %d %d %d\n",
			me, owner, state, late[1], late[2], late[3]) }
	:: d_step { my.calling && (!my.refused || sessions < Sessions-1) ->
		hear(); check(); printf("%d hears: %e\n", me, my.place) }
	:: d_step { my.calling ->
		forgetCall(); check(); printf("%d: its reply is LOST\n", me) }
	od
}

active proctype World() {
	d_step { member[0].session = 1; member[1].session = 2;
		alive[1] = 1; alive[2] = 1 };
	atomic { run Crawler(0); run Crawler(1) };
end_world:
	do
	:: d_step { alive[1] -> expire(1) }
	:: d_step { alive[2] -> expire(2) }
	:: d_step { alive[3] -> expire(3) }
	od
}
