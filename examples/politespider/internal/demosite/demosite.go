// Package demosite serves a small internet on loopback: a handful of hosts that
// show what a polite crawler meets. Each host is a text file in hosts/. For
// each page, the file also says what the page shows and what a crawler must
// conclude from it. [Site.Pages] returns these conclusions, and a test compares
// a crawl with them.
//
// One listener serves all hosts. [Site.DialContext] takes the place of DNS. It
// connects every host name of the demo to that listener and knows no other
// name, so a crawl cannot leave the demo.
//
//	site, err := demosite.Start()
//	…
//	defer site.Close()
//	client := &http.Client{Transport: &http.Transport{DialContext: site.DialContext}}
//	resp, err := client.Get(demosite.Front)
package demosite

import (
	"context"
	"fmt"
	"hash/crc32"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Front is the URL of the page that leads to all others.
const Front = "http://town.example/"

// A Site has the demo's hosts. [New] and [Start] make a Site. It is safe for
// concurrent use.
type Site struct {
	server *http.Server

	mu    sync.Mutex // guards the answers of the hosts
	hosts map[string]host
}

// New returns the demo without a listener. [Site.ServeHTTP] answers for the
// hosts that [Site.Hosts] lists. The Site has a copy of the demo for each of
// the domains. The hosts and the links of the copy for "2.example" have names
// such as museum.2.example. The demo itself is the one for "example".
func New(domains ...string) (*Site, error) {
	s := &Site{hosts: make(map[string]host)}
	for _, domain := range domains {
		if err := readHosts(s.hosts, domain); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Start returns the demo, served on a free loopback port until [Site.Close].
func Start() (*Site, error) {
	s, err := New("example")
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("demosite: listen on loopback: %w", err)
	}
	s.server = &http.Server{Addr: listener.Addr().String(), Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go s.server.Serve(listener)
	return s, nil
}

// Close stops the listener and closes its connections.
func (s *Site) Close() error { return s.server.Close() }

// Hosts returns the host names, sorted. [Site.ServeHTTP] answers for each of
// them.
func (s *Site) Hosts() []string { return slices.Sorted(maps.Keys(s.hosts)) }

// DialContext connects to the listener if addr names a host of the demo. For
// any other name, it returns a [net.DNSError] inside a [net.OpError], like a
// real dialer that finds no such host.
func (s *Site) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	name, _, _ := net.SplitHostPort(addr)
	if _, ok := s.hosts[strings.ToLower(name)]; !ok {
		return nil, &net.OpError{
			Op:  "dial",
			Net: network,
			Err: &net.DNSError{Err: "no such host", Name: name, IsNotFound: true},
		}
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, network, s.server.Addr)
}

// ServeHTTP gives the next answer of the host that the request names for the
// request's target, or 404. A page that the client has as it is gets a 304.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(strings.ToLower(r.Host), ":")
	h, ok := s.hosts[name]
	if !ok {
		http.Error(w, "no such host", http.StatusMisdirectedRequest)
		return
	}
	target := r.URL.RequestURI()
	s.mu.Lock()
	answers := h[target]
	if len(answers) > 1 {
		h[target] = answers[1:]
	}
	s.mu.Unlock()
	if len(answers) == 0 {
		http.NotFound(w, r)
		return
	}
	a := answers[0]
	maps.Copy(w.Header(), a.header)
	if a.status == http.StatusOK {
		etag := fmt.Sprintf(`"%x"`, crc32.ChecksumIEEE(a.body))
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.WriteHeader(a.status)
	w.Write(a.body) // net/http drops the body if the request is a HEAD
}
