package robotstest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestHostsAreAddresses(t *testing.T) {
	answer := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, text) })
	}
	var web robotstest.Internet
	web.Handle("Both.example", answer("both"))
	web.Handle("http://split.example", answer("plain"))
	web.Handle("https://split.example", answer("tls"))
	web.Handle("port.example:8080", answer("port"))
	web.Handle("[2001:db8::1]", answer("six"))
	web.Handle("xn--bcher-kva.example", answer("idn"))

	for _, c := range []struct{ url, want string }{
		{"http://both.example/", "both"},
		{"https://both.example/", "both"},
		{"http://BOTH.example:80/", "both"},
		{"https://both.example.:443/", "both"},
		{"http://split.example", "plain"},
		{"https://split.example", "tls"},
		{"http://port.example:8080/", "port"},
		{"https://port.example:8080/", "port"},
		{"http://[2001:db8::1]/", "six"},
		{"http://bücher.example/", "idn"},
		{"http://both.example:81/", ""},
		{"http://port.example/", ""},
		{"http://nowhere.example/", ""},
	} {
		resp, err := (&http.Client{Transport: &web}).Get(c.url)
		if c.want == "" {
			op, _ := errors.AsType[*net.OpError](err)
			dns, _ := errors.AsType[*net.DNSError](err)
			if op == nil || dns == nil || !dns.IsNotFound {
				t.Errorf("%s: RoundTrip returned error %v, want a *net.OpError that wraps a *net.DNSError", c.url, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: got error %v, want none", c.url, err)
			continue
		}
		if got := read(t, resp); got != c.want {
			t.Errorf("%s: the body is %q, want %q", c.url, got, c.want)
		}
	}
}

func TestHandlePanicsAtBadHost(t *testing.T) {
	for _, name := range []string{"", "http://", "ftp://a.example", "a.example/path", "a b", "a.example:http", "u@a.example"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Handle(%q) did not panic, want a panic", name)
				}
			}()
			new(robotstest.Internet).Handle(name, robotstest.Status(200))
		}()
	}
}

// A handler behind an Internet and the same handler behind a real server look
// the same to a client.
func TestSameAsASocket(t *testing.T) {
	handlers := map[string]http.HandlerFunc{
		"empty": func(w http.ResponseWriter, r *http.Request) {},
		"small, so with a Content-Length": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "<p>hello")
		},
		"large, so chunked": func(w http.ResponseWriter, r *http.Request) { w.Write(make([]byte, 1<<20)) },
		"flushed, so chunked": func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "a")
			w.(http.Flusher).Flush()
			io.WriteString(w, "b")
		},
		"own type and length": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/x-own")
			w.Header().Set("Content-Length", "3")
			io.WriteString(w, "abc")
		},
		"no content":   func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) },
		"not modified": func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(304) },
		"redirect":     func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) },
		"teapot":       func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no coffee", http.StatusTeapot) },
		"trailers": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Trailer", "X-Sum")
			io.WriteString(w, "body")
			w.Header().Set("X-Sum", "42")
			w.Header().Set(http.TrailerPrefix+"X-Late", "43")
		},
		"too short for its length": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "10")
			io.WriteString(w, "short")
		},
		"echo": func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			fmt.Fprintln(w, r.Method, r.URL, r.RequestURI, r.Proto, r.ContentLength, r.TransferEncoding, len(r.Header), r.UserAgent())
			w.Write(body)
		},
	}
	requests := map[string]func() *http.Request{
		"GET":  func() *http.Request { return httptest.NewRequest("GET", "http://site.example/p?b=1&a=2", nil) },
		"HEAD": func() *http.Request { return httptest.NewRequest("HEAD", "http://site.example/", nil) },
		"POST": func() *http.Request {
			return httptest.NewRequest("POST", "http://site.example/", strings.NewReader("sent"))
		},
		"POST of unknown length": func() *http.Request {
			return httptest.NewRequest("POST", "http://site.example/", io.MultiReader(strings.NewReader("sent")))
		},
		"own agent": func() *http.Request {
			r := httptest.NewRequest("GET", "http://site.example/", nil)
			r.Header.Set("User-Agent", "ExampleBot/1.0")
			return r
		},
	}
	see := func(rt http.RoundTripper, req *http.Request) string {
		req.RequestURI = "" // httptest.NewRequest sets it, and a client must not set it
		resp, err := rt.RoundTrip(req)
		if err != nil {
			return err.Error()
		}
		if resp.Request != req {
			t.Error("response.Request is not the request, want the same pointer")
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		resp.Header.Del("Date")
		return fmt.Sprintln(resp.Status, resp.Proto, resp.Header, resp.ContentLength, resp.TransferEncoding,
			resp.Uncompressed, resp.Close, resp.Trailer, len(body), err) + string(body)
	}
	for name, handler := range handlers {
		server := httptest.NewServer(handler)
		socket := &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", server.Listener.Addr().String())
			},
			DisableCompression: true,
		}
		var web robotstest.Internet
		web.Handle("site.example", handler)
		for method, request := range requests {
			if got, want := see(&web, request()), see(socket, request()); got != want {
				t.Errorf("%s of %s:\n got %s\nwant %s", method, name, got, want)
			}
		}
		socket.CloseIdleConnections()
		server.Close()
	}
}

func TestHostHeaderReachesTheHandlerOfTheAddress(t *testing.T) {
	mux := http.NewServeMux()
	mux.Handle("a.example/", robotstest.Site{"/": "a"})
	mux.Handle("b.example/", robotstest.Site{"/": "b"})
	var web robotstest.Internet
	web.Handle("a.example", mux)
	web.Handle("b.example", robotstest.Site{"/": "another machine"})

	req, _ := http.NewRequest("GET", "http://a.example/", nil)
	req.Host = "b.example"
	resp, err := web.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if got := read(t, resp); got != "b" {
		t.Errorf("the body is %q, want b", got)
	}
	if log := web.Log(); log[0].URL != "http://a.example/" || log[0].Host != "b.example" {
		t.Errorf("the log has %s with Host %s, want http://a.example/ with b.example", log[0].URL, log[0].Host)
	}
}

func TestFaults(t *testing.T) {
	for _, c := range []struct {
		name      string
		set       func(*robotstest.Internet)
		before    error // what RoundTrip returns
		after     error // what reading the body returns
		text      string
		malformed bool
	}{
		{name: "refused", before: syscall.ECONNREFUSED,
			set: func(web *robotstest.Internet) { web.Fail("a.example", syscall.ECONNREFUSED) }},
		{name: "reset before the header", before: syscall.ECONNRESET,
			set: func(web *robotstest.Internet) { web.Handle("a.example", robotstest.Reset("")) }},
		{name: "reset during the body", after: syscall.ECONNRESET, text: "half",
			set: func(web *robotstest.Internet) { web.Handle("a.example", robotstest.Reset("half")) }},
		{name: "closed during the header", before: io.ErrUnexpectedEOF,
			set: func(web *robotstest.Internet) { web.Handle("a.example", robotstest.Raw("HTTP/1.1 200 OK\r\nX-Half: ")) }},
		{name: "truncated", after: io.ErrUnexpectedEOF, text: "half",
			set: func(web *robotstest.Internet) {
				web.Handle("a.example", robotstest.Raw("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf"))
			}},
		{name: "not HTTP", malformed: true,
			set: func(web *robotstest.Internet) { web.Handle("a.example", robotstest.Raw("SSH-2.0-OpenSSH\r\n")) }},
		{name: "replaced by one that works", text: "fine",
			set: func(web *robotstest.Internet) {
				web.Fail("a.example", syscall.ECONNREFUSED)
				web.Handle("a.example", robotstest.Site{"/": "fine"})
			}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var web robotstest.Internet
			c.set(&web)
			req, _ := http.NewRequest("GET", "http://a.example/", nil)
			resp, err := web.RoundTrip(req)
			if c.before != nil || c.malformed {
				if err == nil || !c.malformed && !errors.Is(err, c.before) {
					t.Fatalf("RoundTrip returned error %v, want %v", err, c.before)
				}
				if got := web.Log()[0]; got.Status != 0 || got.Err != err {
					t.Errorf("the log has status %d and error %v, want 0 and the error of RoundTrip", got.Status, got.Err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if string(got) != c.text || !errors.Is(err, c.after) {
				t.Errorf("reading the body returned %q and error %v, want %q and error %v", got, err, c.text, c.after)
			}
		})
	}
}

func TestRequestContextEndsAHandlerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("hang.example", robotstest.Hang{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, "GET", "http://hang.example/", nil)
		start := time.Now()
		if _, err := web.RoundTrip(req); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("RoundTrip returned error %v, want DeadlineExceeded", err)
		}
		if took := time.Since(start); took != time.Hour {
			t.Errorf("RoundTrip took %v, want 1h", took)
		}
	}) // synctest fails if a goroutine is left
}

func TestBodyStreamsInFakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("slow.example", robotstest.Trickle{Chunk: "x", Every: time.Second, Times: 600})
		start := time.Now()
		resp, err := (&http.Client{Transport: &web}).Get("http://slow.example/")
		if err != nil {
			t.Fatal(err)
		}
		if time.Since(start) != 0 {
			t.Errorf("the header was received after %v, want 0s", time.Since(start))
		}
		if got := read(t, resp); len(got) != 600 {
			t.Errorf("the body has %d bytes, want 600", len(got))
		}
		if took := time.Since(start); took != 599*time.Second {
			t.Errorf("the response took %v, want 599s", took)
		}
	})
}

func TestClosingTheBodyEndsAHandlerWithoutEnd(t *testing.T) {
	for name, tarpit := range map[string]robotstest.Trickle{
		"slow": {Chunk: "x", Every: time.Second},
		"fast": {Chunk: strings.Repeat("x", 1<<16)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("tar.example", tarpit)
				resp, err := (&http.Client{Transport: &web}).Get("http://tar.example/")
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(resp.Body, make([]byte, 100)); err != nil {
					t.Error(err)
				}
				resp.Body.Close()
			})
		})
	}
}

func TestHijackedConnectionSpeaksBothWays(t *testing.T) {
	var web robotstest.Internet
	web.Handle("ws.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.Close()
		io.WriteString(conn,
			"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
		line, _ := rw.ReadString('\n')
		io.WriteString(conn, line)
	}))
	req, _ := http.NewRequest("GET", "http://ws.example/", nil)
	req.Header.Set("Connection", "Upgrade")
	req.Header.Set("Upgrade", "echo")
	resp, err := web.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	io.WriteString(resp.Body.(io.Writer), "ping\n")
	if got, err := io.ReadAll(resp.Body); string(got) != "ping\n" {
		t.Errorf("reading from the hijacked connection returned %q (error %v), want \"ping\\n\"", got, err)
	}
}

func TestLogKeepsOrderAndTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("a.example", robotstest.Site{"/": "home"})
		start := time.Now()
		for _, target := range []string{"/", "/missing", "https://a.example/", "http://gone.example/"} {
			if strings.HasPrefix(target, "/") {
				target = "http://a.example" + target
			}
			req, _ := http.NewRequest("", target, nil)
			req.Header.Set("X-Page", target)
			if resp, err := web.RoundTrip(req); err == nil {
				resp.Body.Close()
			}
			time.Sleep(time.Minute)
		}
		var got bytes.Buffer
		for _, r := range web.Log() {
			fmt.Fprintln(&got, r.Time.Sub(start), r.Method, r.URL, r.Status, r.Header.Get("X-Page") == r.URL, r.Err != nil)
		}
		want := `0s GET http://a.example/ 200 true false
1m0s GET http://a.example/missing 404 true false
2m0s GET https://a.example/ 200 true false
3m0s GET http://gone.example/ 0 true true
`
		if got.String() != want {
			t.Errorf("the log is\n%swant\n%s", &got, want)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	var web robotstest.Internet
	var group sync.WaitGroup
	for i := range 50 {
		host := fmt.Sprintf("h%d.example", i)
		group.Go(func() {
			web.Handle(host, robotstest.Site{"/": host})
			for range 10 {
				resp, err := (&http.Client{Transport: &web}).Get("http://" + host)
				if err != nil {
					t.Error(err)
					return
				}
				if got := read(t, resp); got != host {
					t.Errorf("%s: the body is %q, want the name of the host", host, got)
				}
			}
		})
	}
	group.Wait()
	if got := len(web.Log()); got != 500 {
		t.Errorf("the log has %d requests, want 500", got)
	}
}

type closeCounter struct {
	io.Reader
	closed int
}

func (c *closeCounter) Close() error { c.closed++; return nil }

func TestRequestBodyIsClosedOnError(t *testing.T) {
	var web robotstest.Internet
	web.Fail("down.example", syscall.ECONNREFUSED)
	body := &closeCounter{Reader: strings.NewReader("x")}
	req, _ := http.NewRequest("POST", "http://down.example/", body)
	if _, err := web.RoundTrip(req); err == nil {
		t.Fatal("RoundTrip returned no error, want one")
	}
	if body.closed == 0 {
		t.Error("the body was not closed, want it closed")
	}
}

func read(t *testing.T, resp *http.Response) string {
	t.Helper()
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}
