package politeness

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"
	"time"
)

// A proxy for plain HTTP contacts the host of the Host header, because net/http
// writes that host into the request line. If requests kept the delay of their
// URL's host instead, a crawler that sets Host could send requests with
// different URL hosts to one site without any delay.
func TestProxy_RequestsArePacedByTheHostThatItContacts(t *testing.T) {
	var contacted []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		contacted = append(contacted, r.URL.Host)
	}))
	defer proxy.Close()
	proxyURL, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	base := &http.Transport{Proxy: http.ProxyURL(proxyURL)}
	defer base.CloseIdleConnections()
	tr := &Transport{Base: base, Limiter: &Limiter{Delay: time.Hour, MaxWait: -1}}
	for _, tt := range []struct {
		url, opaque, host string
		reached           string // "" means that the request is rejected
	}{
		{url: "http://a.example/1", host: "b.example", reached: "b.example"},
		{url: "http://b.example/2"},
		{url: "http://c.example/3", host: "B.Example:8080"},
		{url: "http://a.example/4", reached: "a.example"},
		{url: "http://d.example/5", host: "a.example"},
		{url: "http://d.example/6", opaque: "//d.example/6", host: "a.example", reached: "d.example"},
		{url: "http://f.example/6", opaque: "//f.example?6", host: "a.example", reached: "f.example"},
		{url: "http://e.example/7", opaque: "//b.example/7", host: "b.example"},
		{url: "http://e.example/8", opaque: "/8", host: "b.example"},
		{url: "http://e.example/9", host: "e.example", reached: "e.example"},
	} {
		contacted = nil
		req, err := http.NewRequest("GET", tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.URL.Opaque, req.Host = tt.opaque, tt.host
		resp, err := tr.RoundTrip(req)
		if err == nil {
			resp.Body.Close()
		}
		if _, isDelayed := errors.AsType[*DelayError](err); tt.reached == "" {
			if !isDelayed || contacted != nil {
				t.Errorf("%s with Host %q: error %v, and the proxy contacted %q; want a DelayError and no contact", tt.url, tt.host, err, contacted)
			}
		} else if err != nil || !slices.Equal(contacted, []string{tt.reached}) {
			t.Errorf("%s with Host %q: error %v, and the proxy contacted %q; want none and %q", tt.url, tt.host, err, contacted, tt.reached)
		}
	}
}

// Without an HTTP proxy, or with TLS through one, a request reaches the host of
// its URL.
func TestProxy_OtherRequestsArePacedByTheirURL(t *testing.T) {
	for _, tt := range []struct{ name, url, proxy string }{
		{"no proxy", "http://a.example/", ""},
		{"no proxy for this host", "http://a.example/", "none"},
		{"TLS", "https://a.example/", "http://proxy.example"},
		{"SOCKS", "http://a.example/", "socks5://proxy.example"},
	} {
		base := new(http.Transport)
		switch tt.proxy {
		case "":
		case "none":
			base.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } // as http.ProxyFromEnvironment does
		default:
			proxyURL, err := url.Parse(tt.proxy)
			if err != nil {
				t.Fatal(err)
			}
			base.Proxy = http.ProxyURL(proxyURL)
		}
		req, err := http.NewRequest("GET", tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "b.example"
		if u := scheduledURL(base, req); u.Host != "a.example" {
			t.Errorf("%s: scheduled as a request to %q, want %q", tt.name, u.Host, "a.example")
		}
	}
}
