package schedule

// A Claim is the claim of one member of a fleet to a host. The member makes it
// before it owns the host, and sends requests only while it owns the host.
type Claim struct {
	Owned       bool // the member owns the host
	Denied      bool // the member can never own the host
	OthersWait  bool // other members wait for the host
	HasStarted  bool // a request has started since the host was requested
	HasDeclared bool // a Crawl-delay was declared before the host became owned

	// InFlightElsewhere is how many requests of other members are in flight.
	// They take up slots.
	InFlightElsewhere int32

	Requested  Time    // when the member requested the host
	OwnedSince Time    // when the host became owned
	IdleSince  Time    // when the host ran out of requests; Never while it has some
	RetryBy    Time    // until then, the host is kept for a retry; Never means that none is expected
	Earliest   Time    // until the host is owned: when it can be owned; Anytime if that is unknown
	LastStored Learned // what the fleet has stored last, in the form of Durable

	// Holder is what the Claim belongs to. Package schedule does not use it.
	Holder any
}
