package audit

import (
	"bytes"
	"cmp"
	"strings"
)

// A parser reads the lines of a log.
type parser struct {
	format    string            // Auditor.Format
	surveys   bool              // entries of browsers have an identity too
	columns   *columns          // of the W3C format, from the latest "#Fields:"; nil if there was none
	pool      *eventPool        // nil if events are not used again
	agents    map[string]string // names of robots by User-Agent: a cache
	addresses map[string]string // by themselves, so that they are not copied: a cache
	members   members           // of the latest line of JSON, so that the map is used again
	isShipped bool              // the line is within another one
	stamp     string            // the date of an earlier line
	minute    int64             // when the minute of stamp began
}

// An entry is what a line of a log contains, in any format.
type entry struct {
	isRequest bool   // the line is about a request, by a robot or not
	hasAgent  bool   // the request had a User-Agent
	at        int64  // the time by which the log is sorted
	robot     string // "" if it is no robot
	event     *event // nil if it is no robot
	identity         // only if it is a robot, or if the parser surveys
}

// columns are the indexes of the columns of a W3C log; -1 is none.
type columns struct {
	count                                      int
	date, time, took                           int
	method, stem, query, uri, status           int
	host, client, forwarded, agent, retryAfter int
	isCloudFront                               bool
}

// fields are what all formats but the combined one contain about a request.
// Texts may be parts of the line.
type fields struct {
	begin, end    int64 // "never" means not known; one of them is known
	rounded       int64 // how much these times may have been rounded down
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
	isClientKnown bool   // the server has read forwardedFor itself, if it trusts it
}

// entry returns the contents of a line.
func (p *parser) entry(f *fields, err error) (entry, error) {
	if err != nil {
		return entry{}, err
	}
	out := entry{isRequest: true, at: max(f.begin, f.end), hasAgent: len(f.agent) > 0 && string(f.agent) != "-"}
	out.robot = p.agent(f.agent)
	if out.robot == "" && !p.surveys {
		return out, nil
	}
	out.identity = p.identity(f)
	if out.robot == "" {
		return out, nil
	}
	e := p.pool.get()
	*e = event{at: f.begin, end: f.end, rounded: f.rounded, doubt: underWay, robot: out.robot, url: f.url, status: f.status, isAtEdge: f.isAtEdge}
	if f.begin == never {
		e.at, e.doubt = f.end, longestAnswer
	}
	e.host = out.host
	e.address, e.isAnonymous = out.client, out.client == ""
	e.notGet = cmp.Or(f.method, "GET") != "GET"
	if f.retryAfter != "" {
		e.wait = int64(retryAfter(f.retryAfter, f.date, asTime(out.at)))
	}
	out.event = e
	return out, nil
}

// identity returns who sent the request, and to which host.
func (p *parser) identity(f *fields) (id identity) {
	if f.host != "" && f.host != "-" {
		_, id.host = originOf(f.host)
		if len(f.host) > longest {
			id.host = strings.Clone(id.host)
		}
	}
	peer, ok := p.address([]byte(f.peer))
	if !ok && !isNobody(f.peer) {
		peer = strings.Clone(clip(f.peer))
	}
	id.peer, id.client = peer, peer
	if f.isClientKnown {
		return id
	}
	if client := forwardedFor(f.forwardedFor); client != "" {
		id.client = client
	}
	return id
}

const (
	cachedNames = 1 << 12
	cachedSize  = 1 << 10 // in bytes; longer keys are not cached
)

// address is parseAddress with a cache of addresses without a port. With one,
// few appear again.
func (p *parser) address(word []byte) (address string, ok bool) {
	if address, ok = p.addresses[string(word)]; ok {
		return address, true
	}
	address, ok = parseAddress(word)
	if !ok || address != string(word) {
		return address, ok
	}
	if p.addresses == nil || len(p.addresses) >= cachedNames {
		p.addresses = make(map[string]string)
	}
	p.addresses[address] = address
	return address, true
}

// identify reads what is before the date in a line of the combined format: the
// client, the user of identd and the user of HTTP, as in "192.0.2.1 - frank".
// The host may be before the client (Apache's vhost_combined), and the prefix
// of a log shipper before all. The client is an address, a list such as
// "192.0.2.1, 10.0.0.1" of a client and its proxies or, if there are exactly
// three words, any name. The name of the HTTP user may have any bytes, so only
// the first address counts.
func (p *parser) identify(names []byte) identity {
	first, rest := cutWord(names)
	if peer, ok := p.address(first); ok && !isAnotherAddress(rest) {
		return identity{peer: peer, client: peer}
	}
	words := bytes.Fields(withoutPrefix(names))
	if len(words) == 3 && !isList(words[0]) {
		return named(words[0])
	}
	if len(words) == 4 && hasPort(words[0]) && isNobody(string(words[1])) {
		// The client is not known, but the host is.
		_, host := originOf(copied(words[0]))
		return identity{host: host}
	}
	for i := range max(len(words)-2, 0) {
		id, ok := identifyAt(words[i:])
		if !ok {
			continue
		}
		if i == 1 && id.host == "" && isHost(words[0]) {
			_, id.host = originOf(copied(words[0]))
		}
		return id
	}
	return identity{}
}

// agent returns the name of the robot with a User-Agent, and caches it. s is
// the text in the line, with its escapes.
func (p *parser) agent(s []byte) string {
	if token, ok := p.agents[string(s)]; ok {
		return token
	}
	token := strings.Clone(robotOf(unescaped(s))) // an event keeps the name, and s may be long
	if len(s) <= cachedSize {
		if p.agents == nil || len(p.agents) >= cachedNames {
			p.agents = make(map[string]string)
		}
		p.agents[string(s)] = token
	}
	return token
}
