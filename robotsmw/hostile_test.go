package robotsmw

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// huge returns a 9 MiB text that is different for each i. net/http accepts a
// header of up to 10 MiB.
func huge(i int) string { return strings.Repeat("x", 9<<20) + fmt.Sprint(i) }

// hugeAnswers are responses and errors that contain a huge text.
var hugeAnswers = map[string]func(r *http.Request, i int) (*http.Response, error){
	"a status line": func(r *http.Request, i int) (*http.Response, error) {
		var web robotstest.Internet
		web.Handle(r.URL.Host, robotstest.Raw("HTTP/1.1 "+huge(i)+"\r\n\r\n"))
		return web.RoundTrip(r)
	},
	"a reason phrase": func(r *http.Request, i int) (*http.Response, error) {
		var web robotstest.Internet
		web.Handle(r.URL.Host, robotstest.Raw("HTTP/1.1 503 "+huge(i)+"\r\n\r\n"))
		return web.RoundTrip(r)
	},
	"an error": func(r *http.Request, i int) (*http.Response, error) { return nil, errors.New(huge(i)) },
	"a panic":  func(r *http.Request, i int) (*http.Response, error) { panic(huge(i)) },
	"a limiter's host": func(r *http.Request, i int) (*http.Response, error) {
		if r.URL.Path == "/robots.txt" {
			return newResponse(r, 302, "", "Location: /r.txt"), nil
		}
		return nil, fmt.Errorf("%s: %w", huge(i),
			&politeness.DelayError{Host: r.URL.Host, Until: time.Now().Add(time.Hour)})
	},
	"a Location": func(r *http.Request, i int) (*http.Response, error) {
		return newResponse(r, 302, "", "Location: /"+huge(i)), nil
	},
	"a redirect to a host that is paused": func(r *http.Request, i int) (*http.Response, error) {
		if r.URL.Host == "resting.example" {
			<-r.Context().Done() // RobotsTimeout ends this wait
			return nil, r.Context().Err()
		}
		return newResponse(r, 302, "", "Location: http://resting.example/robots.txt", "X-Filler: "+huge(i)), nil
	},
	"validators": func(r *http.Request, i int) (*http.Response, error) {
		return newResponse(r, 200, someRules, "ETag: "+huge(i), "Last-Modified: "+huge(i)), nil
	},
	"a lifetime": func(r *http.Request, i int) (*http.Response, error) {
		return newResponse(r, 404, "", "Cache-Control: max-age=600, "+huge(i), "Expires: "+huge(i), "Date: "+huge(i)),
			nil
	},
	"a content coding": func(r *http.Request, i int) (*http.Response, error) {
		return newResponse(r, 200, someRules, "Content-Encoding: "+huge(i)), nil
	},
	"a price": func(r *http.Request, i int) (*http.Response, error) {
		return newResponse(r, 402, "", "Crawler-Price: "+huge(i)), nil
	},
	"who blocks": func(r *http.Request, i int) (*http.Response, error) {
		return newResponse(r, 451, "", `Link: <http://a.example/>; rel="blocked-by"; `+huge(i)), nil
	},
	"Retry-After": func(r *http.Request, i int) (*http.Response, error) {
		return newResponse(r, 429, "", "Retry-After: "+strings.Repeat("9", 9<<20)), nil
	},
}

// A huge text in a response is not kept in memory, in a Store or in an error.
func TestHugeAnswersLeaveNothingBehind(t *testing.T) {
	for name, answer := range hugeAnswers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const origins = 4 // for each kind of response
				var n atomic.Int64
				web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
					return answer(r, int(n.Add(1)))
				})
				store := new(memoryStore)
				checker := newTestTransport(t, web, withStore(store)).Checker()
				before := testmain.Heap()
				for i := range origins {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					defer cancel()
					d, err := checker.Check(ctx, mustURL(t, fmt.Sprintf("http://h%d.example/private/", i)))
					if err == nil && !d.Allowed {
						err = &DisallowedError{d}
					}
					if err != nil && len(err.Error()) > 2<<10 {
						t.Errorf("the error has %d bytes, want at most 2 KiB", len(err.Error()))
					}
					if len(d.Cause) > 300 || strings.ContainsFunc(d.Cause, func(r rune) bool { return !unicode.IsPrint(r) }) {
						t.Errorf("the cause has %d bytes, want at most 300, all printable: %.500q", len(d.Cause),
							d.Cause)
					}
				}
				synctest.Wait()
				// Each origin may take 200 kB of memory.
				if grown, most := testmain.Heap()-before, int64(8e6*origins/40); grown > most {
					t.Errorf("%d origins take %d bytes of memory, want %d at most", origins, grown, most)
				}
				runtime.KeepAlive(checker)
				time.Sleep(time.Minute) // until all fetches have ended
				synctest.Wait()
				for key, value := range store.values {
					if len(value) > 64<<10 {
						t.Errorf("%s: the stored value has %d bytes, want at most 64 KiB", key, len(value))
					}
				}
			})
		})
	}
}

// The client follows a redirect to a URL of up to 8 KiB. The client keeps this
// URL and the ETag of the file. The Bytes of Stats include both. A redirect to
// a longer URL has no usable target.
func TestLengthOfALocation(t *testing.T) {
	const most = 8 << 10
	at := "http://a.example/"
	for _, tt := range []struct {
		name     string
		location string
		want     verdict
	}{
		{"8 KiB", at + strings.Repeat("r", most-len(at)), obey},
		{"8 KiB and a byte", at + strings.Repeat("r", most-len(at)+1), allowAll},
		{"a relative one of 8 KiB", "/" + strings.Repeat("r", most-len(at)), obey},
		{"a relative one of 8 KiB and a byte", "/" + strings.Repeat("r", most-len(at)+1), allowAll},
		{"longer once escaped", "/" + strings.Repeat("é", most/3), allowAll},
	} {
		t.Run(tt.name, func(t *testing.T) {
			web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
				if r.URL.Path == "/robots.txt" {
					return newResponse(r, 302, "", "Location: "+tt.location), nil
				}
				return newResponse(r, 200, someRules, "ETag: \""+strings.Repeat("e", 1000)+"\""), nil
			})
			c := newTestTransport(t, web).Checker()
			private, public := decide(t, c, at+"private/"), decide(t, c, at)
			if got := classify(private, public); got != tt.want {
				t.Errorf("the verdict is %s, want %s", got, tt.want)
			}
			if held := c.Stats().Bytes; tt.want == obey && (held < most+1000 || held > most+4000) {
				t.Errorf("Stats counts %d bytes, want %d to %d for the URL and the ETag", held, most+1000, most+4000)
			}
		})
	}
}

// A body in gzip may consist of millions of empty members. Decoding it takes a
// long time and yields no text. The client stops reading after 4 MiB.
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
	// A busy machine may need seconds to decode 4 MiB.
	c := newTestTransport(t, base, func(o *Options) { o.RobotsTimeout = time.Minute }).Checker()
	d := decide(t, c, server.URL+"/")
	if d.Reason != Unreachable || d.Allowed || d.Cause != "reading robots.txt: the coded body is larger than 4 MiB" {
		t.Errorf("got %v; want disallowed, because the coded body is larger than 4 MiB", d)
	}
}

// Two hosts of one server have different files with the same ETag. The client
// must not send the ETag of one host's file to the other host.
func TestValidatorsOfAVirtualHost(t *testing.T) {
	for _, tt := range []struct {
		name  string
		moved string // where the virtual host's robots.txt redirects to at first
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
						return newResponse(r, 302, "", "Location: "+tt.moved), nil
					case r.Header.Get("If-None-Match") == `"1"`:
						return newResponse(r, 304, ""), nil
					case r.Host == "site.example":
						return newResponse(r, 200, shutRules, `ETag: "1"`), nil
					}
					return newResponse(r, 200, "User-agent: *\nAllow: /\n", `ETag: "1"`), nil
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
						t.Errorf("with the Store %T: got error %v, want ErrDisallowed by the virtual host's own rules",
							store, err)
					}
				}
			})
		})
	}
}

// The validators of a virtual host's file are sent back to that host, so a 304
// can renew the file.
func TestValidatorsOfAVirtualHostAreSentToIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		renewed := 0
		web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/robots.txt" && r.Header.Get("If-None-Match") == `"1"` {
				renewed++
				return newResponse(r, 304, ""), nil
			}
			return newResponse(r, 200, shutRules, `ETag: "1"`), nil
		})
		store := new(memoryStore)
		tr := newTestTransport(t, web, withStore(store))
		for want := range 3 {
			req, _ := http.NewRequestWithContext(t.Context(), "GET", "http://192.0.2.1/page", nil)
			req.Host = "site.example"
			if _, err := tr.RoundTrip(req); !errors.Is(err, ErrDisallowed) || renewed != want {
				t.Errorf("error %v, renewed %d times; want ErrDisallowed and %d", err, renewed, want)
			}
			time.Sleep(25 * time.Hour)
			tr = newTestTransport(t, web, withStore(store))
		}
	})
}
