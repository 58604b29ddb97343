package demosite

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestStart_HostsByName(t *testing.T) {
	site, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	defer site.Close()
	transport := &http.Transport{DialContext: site.DialContext}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}

	for _, name := range site.Hosts() {
		resp, err := client.Get("http://" + name + "/")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || len(body) == 0 {
			t.Errorf("%s: status %d, %d bytes, error %v", name, resp.StatusCode, len(body), err)
		}
	}
	if got, want := len(site.Log()), len(site.Hosts()); got != want {
		t.Errorf("the log has %d requests, want %d", got, want)
	}

	_, err = client.Get("http://lighthouse.example/")
	if dns, ok := errors.AsType[*net.DNSError](err); !ok || !dns.IsNotFound {
		t.Errorf("a host that is not there: %v, want a *net.DNSError", err)
	}
}

func TestServeHTTP_AnswersFollowEachOther(t *testing.T) {
	site, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{http.StatusTooManyRequests, http.StatusOK, http.StatusOK} {
		rec := httptest.NewRecorder()
		site.ServeHTTP(rec, httptest.NewRequest("GET", "http://station.example/departures", nil))
		if rec.Code != want {
			t.Errorf("/departures: status %d, want %d", rec.Code, want)
		}
		if retry := rec.Header().Get("Retry-After"); (retry != "") != (want == http.StatusTooManyRequests) {
			t.Errorf("status %d with Retry-After %q", rec.Code, retry)
		}
	}
}

func TestServeHTTP_Unknown(t *testing.T) {
	site, err := New()
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]int{
		"http://museum.example/nothing":      http.StatusNotFound,
		"http://museum.example/hours?late=1": http.StatusNotFound, // the query is part of the target
		"http://elsewhere.example/":          http.StatusMisdirectedRequest,
	} {
		rec := httptest.NewRecorder()
		site.ServeHTTP(rec, httptest.NewRequest("GET", url, nil))
		if rec.Code != want {
			t.Errorf("%s: status %d, want %d", url, rec.Code, want)
		}
	}
}

func TestParseHost_Mistakes(t *testing.T) {
	for text, want := range map[string]string{
		"-- / --\n":                "want -- /target STATUS --",
		"-- hours 200 --\n":        "want -- /target STATUS --",
		"-- / 200 --\nno header\n": "is not a header",
	} {
		if _, err := parseHost(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}
