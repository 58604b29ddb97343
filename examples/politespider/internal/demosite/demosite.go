// Package demosite serves a small internet on loopback: a handful of hosts with
// pages that a polite crawler must treat in different ways. Each host is a text
// file in hosts/. For each page, the file also contains what the page shows and
// what a crawler must conclude from it. A test of the spider compares a crawl
// with these conclusions.
//
// One listener serves all hosts. [Site.DialContext] connects every host name of
// the demo to that listener without DNS. For any other name it returns an
// error, so a crawl cannot leave the demo.
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

// A Site serves the demo's hosts. [New] and [Start] return a Site. It is safe
// for concurrent use.
type Site struct {
	server *http.Server

	mu    sync.Mutex // guards the responses of the hosts
	hosts map[string]host
}

// New returns the demo without a listener. [Site.ServeHTTP] serves the hosts
// that [Site.Hosts] lists. The Site has a copy of the demo for each of the
// domains. The hosts and the links of the copy for "2.example" have names such
// as museum.2.example. The demo itself is the one for "example".
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

// Hosts returns the host names, sorted.
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

// ServeHTTP sends the next response of the requested host for the requested
// target, or 404. If the client already has the page, it sends a 304.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _, _ := strings.Cut(strings.ToLower(r.Host), ":")
	h, ok := s.hosts[name]
	if !ok {
		http.Error(w, "no such host", http.StatusMisdirectedRequest)
		return
	}
	resp, ok := s.next(h, r.URL.RequestURI())
	if !ok {
		http.NotFound(w, r)
		return
	}
	maps.Copy(w.Header(), resp.header)
	if resp.status == http.StatusOK {
		etag := fmt.Sprintf(`"%x"`, crc32.ChecksumIEEE(resp.body))
		w.Header().Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.WriteHeader(resp.status)
	w.Write(resp.body) // net/http drops the body if the request is a HEAD
}

// next returns the next response of a host for a target. The last response is
// repeated.
func (s *Site) next(h host, target string) (_ response, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	responses := h[target]
	if len(responses) == 0 {
		return response{}, false
	}
	if len(responses) > 1 {
		h[target] = responses[1:]
	}
	return responses[0], true
}
