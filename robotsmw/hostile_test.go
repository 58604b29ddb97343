package robotsmw

import (
	"bytes"
	"compress/gzip"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

// A gzip of members that hold nothing decodes to nothing, for a long time.
func TestGzipOfEmptyMembers(t *testing.T) {
	var member bytes.Buffer
	z, _ := gzip.NewWriterLevel(&member, gzip.NoCompression)
	z.Close()
	million := bytes.Repeat(member.Bytes(), 1<<20)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		for range 4 {
			if _, err := w.Write(million); err != nil {
				return
			}
		}
	}))
	defer server.Close()
	base := new(http.Transport)
	defer base.CloseIdleConnections()
	c := newTestTransport(t, base, func(o *Options) { o.RobotsTimeout = 2 * time.Second }).Checker()
	start := time.Now()
	d := decide(t, c, server.URL+"/")
	if d.Reason != Unreachable || d.Allowed {
		t.Errorf("%v", d)
	}
	if took := time.Since(start); took > 4*time.Second {
		t.Errorf("took %v", took)
	}
	t.Log(d.Cause, time.Since(start))
}

// The virtual hosts of one server have an ETag in common, which begins with
// the number of a version. What one of them has validated is not the other's.
func TestValidatorsOfAVirtualHost(t *testing.T) {
	for _, tt := range []struct {
		name  string
		moved string // where the first virtual host's robots.txt is at first
	}{
		{"redirected to the server's own robots.txt", "http://192.0.2.1/robots.txt"},
		{"redirected to the server's own robots.txt by name and port", "http://192.0.2.1:80/robots.txt"},
		{"redirected within the server's own host", "http://192.0.2.1/robots.txt?v=1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				moved := true
				web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
					switch {
					case r.Host == "site.example" && moved:
						return answerOf(r, 302, "", "Location: "+tt.moved), nil
					case r.Header.Get("If-None-Match") == `"1"`:
						return answerOf(r, 304, ""), nil
					case r.Host == "site.example":
						return answerOf(r, 200, shutRules, `ETag: "1"`), nil
					}
					return answerOf(r, 200, "User-agent: *\nAllow: /\n", `ETag: "1"`), nil
				})
				for _, store := range []Store{nil, new(memoryStore)} {
					moved = true
					visit := func(tr *Transport) error {
						req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://192.0.2.1/page", nil)
						req.Host = "site.example"
						resp, err := tr.RoundTrip(req)
						if err == nil {
							resp.Body.Close()
						}
						return err
					}
					tr := newTestTransport(t, web, withStore(store))
					if err := visit(tr); err != nil {
						t.Fatal(err)
					}
					moved = false
					time.Sleep(25 * time.Hour)
					if store != nil {
						tr = newTestTransport(t, web, withStore(store))
					}
					if err := visit(tr); !errors.Is(err, ErrDisallowed) {
						t.Errorf("with the store %T: %v; the rules of another virtual host are in force", store, err)
					}
				}
			})
		})
	}
}

// A virtual host's own validators go on sparing it the file.
func TestValidatorsOfAVirtualHostAreSentToIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		renewed := 0
		web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/robots.txt" && r.Header.Get("If-None-Match") == `"1"` {
				renewed++
				return answerOf(r, 304, ""), nil
			}
			return answerOf(r, 200, shutRules, `ETag: "1"`), nil
		})
		store := new(memoryStore)
		tr := newTestTransport(t, web, withStore(store))
		for want := range 3 {
			req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://192.0.2.1/page", nil)
			req.Host = "site.example"
			if _, err := tr.RoundTrip(req); !errors.Is(err, ErrDisallowed) || renewed != want {
				t.Errorf("%v; renewed %d times, want %d", err, renewed, want)
			}
			time.Sleep(25 * time.Hour)
			tr = newTestTransport(t, web, withStore(store))
		}
	})
}
