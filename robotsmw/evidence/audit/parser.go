package audit

import (
	"bytes"
	"strings"
)

// A parser reads the lines of a log.
type parser struct {
	format    string            // Auditor.Format
	surveys   bool              // entries of browsers contain an identity too
	columns   *columns          // of the W3C format, from the latest "#Fields:"; nil if there was none
	pool      *eventPool        // nil if events are not used again
	agents    map[string]string // names of robots by User-Agent: a cache
	addresses map[string]string // addresses by themselves, so that they are not copied: a cache
	members   members           // of the latest line of JSON, so that the map is used again
	isNested  bool              // the line is within another one
	stamp     string            // the date of an earlier line
	minute    int64             // when the minute of stamp began
}

// An entry contains the parsed contents of a line of a log, in any format.
type entry struct {
	isRequest bool   // the line is about a request, by a robot or not
	hasAgent  bool   // the request had a User-Agent
	at        int64  // the time by which the log is sorted
	robot     string // "" if the client is not a robot
	event     *event // nil if the client is not a robot
	identity         // set only if the client is a robot, or if parser.surveys is true
}

// columns are the indexes of the columns of a W3C log, from 0. -1 means that
// the log does not have the column.
type columns struct {
	date       int
	time       int
	timeTaken  int
	method     int
	stem       int
	query      int
	uri        int
	status     int
	host       int
	client     int
	forwarded  int
	agent      int
	retryAfter int

	count        int // the number of all columns
	isCloudFront bool
}

// fields contains the data about a request in a line of any format but the
// combined one. Texts may be parts of the line.
type fields struct {
	begin, end    int64 // "never" means not known; at least one of them is known
	rounded       int64 // how much these times may have been rounded down, in nanoseconds
	agent         []byte
	method        string
	host          string
	url           string
	peer          string // the other end of the connection, with or without a port
	forwardedFor  string // the value of X-Forwarded-For
	status        int
	retryAfter    string
	date          string // the response's
	isAtEdge      bool   // no cache is between the clients and the server that wrote the log
	isClientKnown bool   // peer is the client, because the server has already used X-Forwarded-For
}

// entry returns the entry of a line with these fields. If err is not nil, the
// line could not be read, and entry returns err.
func (p *parser) entry(f *fields, err error) (entry, error) {
	if err != nil {
		return entry{}, err
	}
	out := entry{
		isRequest: true,
		hasAgent:  hasAgent(f.agent),
		at:        max(f.begin, f.end),
		robot:     p.agent(f.agent),
	}
	if out.robot == "" && !p.surveys {
		return out, nil
	}
	out.identity = p.identity(f)
	if out.robot == "" {
		return out, nil
	}
	e := p.pool.get()
	*e = event{
		at:          f.begin,
		end:         f.end,
		doubt:       maxTransit,
		rounded:     f.rounded,
		host:        out.host,
		url:         f.url,
		robot:       out.robot,
		address:     out.client,
		status:      f.status,
		notGet:      f.method != "" && f.method != "GET",
		isAnonymous: out.client == "",
		isAtEdge:    f.isAtEdge,
	}
	if f.begin == never {
		e.at = f.end
		e.doubt = maxDuration
	}
	if f.retryAfter != "" {
		e.wait = int64(retryAfter(f.retryAfter, f.date, asTime(out.at)))
	}
	out.event = e
	return out, nil
}

// hasAgent reports whether a request had a User-Agent. agent is its value in
// the log, which is "-" for a request without the header.
func hasAgent(agent []byte) bool { return len(agent) > 0 && string(agent) != "-" }

// identity returns the client and the host of the request.
func (p *parser) identity(f *fields) (id identity) {
	if f.host != "" && f.host != "-" {
		_, id.host = splitOrigin(f.host)
		if len(f.host) > maxName {
			id.host = strings.Clone(id.host)
		}
	}
	peer, ok := p.address([]byte(f.peer))
	if !ok && !isUnknown(f.peer) {
		peer = strings.Clone(clip(f.peer))
	}
	id.peer = peer
	id.client = peer
	if f.isClientKnown {
		return id
	}
	if client := forwardedFor(f.forwardedFor); client != "" {
		id.client = client
	}
	return id
}

const (
	maxCacheEntries = 1 << 12
	maxCacheKey     = 1 << 10 // in bytes; longer keys are not cached
)

// address is parseAddress with a cache. Addresses with a port are not cached,
// because few of them appear again.
func (p *parser) address(word []byte) (address string, ok bool) {
	if address, ok = p.addresses[string(word)]; ok {
		return address, true
	}
	address, ok = parseAddress(word)
	if !ok || address != string(word) {
		return address, ok
	}
	if p.addresses == nil || len(p.addresses) >= maxCacheEntries {
		p.addresses = make(map[string]string)
	}
	p.addresses[address] = address
	return address, true
}

// identify reads the part of a line in the combined format that precedes the
// date, such as "192.0.2.1 - frank": the client, the user of identd and the
// user of HTTP. The host may be before the client (Apache's vhost_combined),
// and the prefix of a log shipper before all. The client is an address, a list
// such as "192.0.2.1, 10.0.0.1" of a client and its proxies or, if there are
// exactly three words, any name. The name of the HTTP user may contain any
// bytes, so only the first address is used.
func (p *parser) identify(names []byte) identity {
	first, rest := cutWord(names)
	if peer, ok := p.address(first); ok && !beginsWithAddress(rest) {
		return identity{peer: peer, client: peer}
	}
	words := bytes.Fields(withoutPrefix(names))
	if len(words) == 3 && !isList(words[0]) {
		return identifyName(words[0])
	}
	if len(words) == 4 && hasPort(words[0]) && isUnknown(string(words[1])) {
		// The client is not known, but the host is.
		_, host := splitOrigin(copied(words[0]))
		return identity{host: host}
	}
	for i := range max(len(words)-2, 0) {
		id, ok := identifyAt(words[i:])
		if !ok {
			continue
		}
		if i == 1 && id.host == "" && isHost(words[0]) {
			_, id.host = splitOrigin(copied(words[0]))
		}
		return id
	}
	return identity{}
}

// agent returns the name of the robot with a User-Agent, or "" if it is not a
// robot, and caches the name. s is the text in the line, with its escapes.
func (p *parser) agent(s []byte) string {
	if name, ok := p.agents[string(s)]; ok {
		return name
	}
	name := strings.Clone(robotName(unescaped(s))) // so that an event does not retain s, which may be long
	if len(s) <= maxCacheKey {
		if p.agents == nil || len(p.agents) >= maxCacheEntries {
			p.agents = make(map[string]string)
		}
		p.agents[string(s)] = name
	}
	return name
}
