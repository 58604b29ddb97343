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

// A peer has what was seen of an address that is not a proxy's.
type peer struct {
	robots []uint64 // hashes of the names of the robots; all browsers are one
}

const (
	// mostRobots is how many robots one client may seem to be; all browsers
	// together count as one. More robots at one address are several clients.
	// Whoever tests robots has several of them on one machine.
	mostRobots = 7
	// mostPrivateRobots is mostRobots of a private address. Clients on the
	// Internet have none, so it is mostly that of a proxy.
	mostPrivateRobots = 2
	// surveyedLines is how many lines of each log are searched for proxies from
	// its beginning on, and after them one of surveyInterval lines. A proxy has
	// very many lines.
	surveyedLines  = 5_000
	surveyInterval = 16
)

// isSurveyed reports whether the line with this number is searched for proxies.
func isSurveyed(line int) bool { return line <= surveyedLines || line%surveyInterval == 0 }

// add notes who sent a request. robot is "" for a browser.
func (p *peers) add(id identity, robot string) {
	if id.client == "" {
		return
	}
	if id.peer != id.client && p.at(id.peer) != nil {
		p.addProxy(id.peer)
	}
	one := p.at(id.client)
	if one == nil || p.isProxy(id.client) {
		return
	}
	most := mostRobots
	if len(one.robots) == mostPrivateRobots && isPrivate(id.client) {
		most = mostPrivateRobots
	}
	sum := maphash.String(p.seed, strings.ToLower(robot))
	switch {
	case slices.Contains(one.robots, sum):
	case len(one.robots) == most:
		p.addProxy(id.client)
	default:
		one.robots = append(one.robots, sum)
	}
}

// at returns what was seen of an address, or nil if there are too many
// addresses, or if there is none.
func (p *peers) at(address string) *peer {
	if p.byAddress == nil {
		p.byAddress = make(map[string]*peer)
		p.proxies = make(map[string]bool)
		p.seed = maphash.MakeSeed()
	}
	one := p.byAddress[address]
	if one == nil && address != "" && len(p.byAddress) < mostKept {
		one = new(peer)
		p.byAddress[strings.Clone(address)] = one
	}
	return one
}

// addProxy notes that a known address stands for many clients.
func (p *peers) addProxy(address string) {
	p.byAddress[address].robots = nil
	p.proxies[strings.Clone(address)] = true
}

// isProxy reports whether an address stands for many clients.
func (p *peers) isProxy(address string) bool { return p.proxies[address] }
