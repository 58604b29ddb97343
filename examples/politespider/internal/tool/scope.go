package tool

import (
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
)

// A scope determines which links a crawl follows, relative to the start URLs.
type scope string

const (
	sameHost   scope = "host"   // the same host, and the same port
	sameDomain scope = "domain" // the same registrable domain, such as example.co.uk
	samePrefix scope = "prefix" // the same host and port, and the same path up to the last slash
)

func (s scope) isValid() bool { return s == sameHost || s == sameDomain || s == samePrefix }

// filter returns a function that reports whether a URL is in the scope of one
// of the start URLs.
func (s scope) filter(start []*url.URL) func(*url.URL) bool {
	within := make(map[string]bool)
	for _, u := range start {
		within[s.key(u)] = true
	}
	return func(u *url.URL) bool {
		key := s.key(u)
		for s == samePrefix && !within[key] && strings.Contains(key, "/") { // try the directory above
			key = key[:strings.LastIndexByte(strings.TrimSuffix(key, "/"), '/')+1]
		}
		return within[key]
	}
}

// key returns what all URLs in one scope have in common. The scheme of the URL
// does not matter.
func (s scope) key(u *url.URL) string {
	switch s {
	case sameDomain:
		host := frontier.HostKey(u)
		if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
			return domain
		}
		return host // an IP address, or a name that is a public suffix itself
	case samePrefix:
		path := u.EscapedPath()
		return u.Host + path[:strings.LastIndexByte(path, '/')+1]
	}
	return u.Host
}
