package audit

import (
	"hash/maphash"
	"slices"
	"strings"
)

// peers finds the addresses that represent many clients: proxies, load
// balancers, and gateways of networks. A request from such an address may be
// from any of its clients, so it proves no gap.
type peers struct {
	byAddress map[string]*peer
	proxies   map[string]bool // a small map, in which each request is looked up
	seed      maphash.Seed
}

// A peer contains the robots that have sent requests from one address. If the
// address is known to be that of a proxy, robots is nil.
type peer struct {
	robots []uint64 // hashes of the names of the robots; all browsers together are one robot
}

const (
	// maxRobots is the maximum number of robots that one client is assumed to
	// run. All browsers together count as one robot. An address with more
	// robots represents several clients. A developer may test several robots on
	// one machine.
	maxRobots = 7
	// maxPrivateRobots replaces maxRobots for a private address. Clients on the
	// Internet do not have one, so it is mostly that of a proxy.
	maxPrivateRobots = 2
	// surveyedLines is the number of lines at the beginning of each log that
	// are searched for proxies. Of the lines after them, one in surveyInterval
	// is searched, which is sufficient because a proxy has very many lines.
	surveyedLines  = 5_000
	surveyInterval = 16
)

// isSurveyed reports whether the line with this number is searched for proxies.
func isSurveyed(line int) bool { return line <= surveyedLines || line%surveyInterval == 0 }

// add records the client and the robot of a request. robot is "" for a browser.
func (p *peers) add(id identity, robot string) {
	if id.client == "" {
		return
	}
	if id.peer != id.client && p.at(id.peer) != nil {
		p.addProxy(id.peer)
	}
	client := p.at(id.client)
	if client == nil || p.isProxy(id.client) {
		return
	}
	limit := maxRobots
	if len(client.robots) == maxPrivateRobots && isPrivate(id.client) {
		limit = maxPrivateRobots
	}
	sum := maphash.String(p.seed, strings.ToLower(robot))
	if slices.Contains(client.robots, sum) {
		return
	}
	if len(client.robots) == limit {
		p.addProxy(id.client)
		return
	}
	client.robots = append(client.robots, sum)
}

// at returns the peer with an address. It returns nil if the address is "", or
// if it is new and there are too many peers.
func (p *peers) at(address string) *peer {
	if p.byAddress == nil {
		p.byAddress = make(map[string]*peer)
		p.proxies = make(map[string]bool)
		p.seed = maphash.MakeSeed()
	}
	found := p.byAddress[address]
	if found == nil && address != "" && len(p.byAddress) < maxNames {
		found = new(peer)
		p.byAddress[strings.Clone(address)] = found
	}
	return found
}

// addProxy records that an address in p.byAddress represents many clients.
func (p *peers) addProxy(address string) {
	p.byAddress[address].robots = nil
	p.proxies[strings.Clone(address)] = true
}

// isProxy reports whether an address represents many clients.
func (p *peers) isProxy(address string) bool { return p.proxies[address] }
