package politeness

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// All spellings of a host share one pace, and different hosts have their own.
func TestOneHostHasOnePace(t *testing.T) {
	for _, spellings := range [][]string{
		{"a.test", "A.TEST", "a.test.", "a.test:8080", "a.test:", "ａ.test", "a。test", "a\u00ad.test"},
		{"[::1]", "[0:0:0:0:0:0:0:1]", "[::1]:443", "[::1%lo]", "[0::1%another]", "[0:0:0:0:0:0:0.0.0.1]"},
		{"192.0.2.1", "192.0.2.1.", "[::ffff:192.0.2.1]", "[::FFFF:c000:201]:80", "[::ffff:192.0.2.1%eth0]", "１９２.0.2.1"},
		{"192.0.2.1", "192.0.513", "192.513", "3221225985", "0xc0.0.2.1", "0XC0.0x0.2.1", "0300.0.02.01", "0xC0000201", "030000001001", "0xc0.513:80", "192.0.2.0x1."},
		{"127.0.0.1", "127.1", "0x7f.1", "0177.0.0.1", "127.0.01", "2130706433"},
		{"0.0.0.0", "0", "0x0", "00", "0.0"},
		{"192.0.2.256"}, // from here to 1.2.3.4.test, no host is an IPv4 address
		{"192.0.2.1.1"},
		{"192.0.0x"},
		{"192.0.2.08"},
		{"192.0.2.0b1"},
		{"192..2.1"},
		{"4294967296"},
		{"192.0.65536"},
		{"256.1"},
		{"1.2.3.4.test"},
		{"[fe80::1%eth0]", "[FE80:0::1%eth0]"},
		{"[fe80::1%ETH0]"}, // ETH0 and eth0 are different links
		{"[fe80::1]"},
		{"bücher.test", "BÜCHER.test", "xn--bcher-kva.test", "XN--Bcher-KVA.test", "bu\u0308cher.test"},
		{"foo_bar.test"},
		{"foo-bar.test"},
		{"r3---sn-x.test"},
		{"my_bücher.test", "My_Bücher.test"}, // IDNA forbids the underscore
		{"::ffff:192.0.2.1.test"},
		{strings.Repeat(strings.Repeat("a", 49)+".", 5) + "com", strings.Repeat(strings.Repeat("A", 49)+".", 5) + "COM.:8080"}, // 253 bytes
		{strings.Repeat("l", 63) + ".test"},
	} {
		first := ""
		for i, s := range spellings {
			key, err := HostKey(t.Context(), &url.URL{Scheme: "http", Host: s})
			if err != nil {
				t.Errorf("HostKey(%s): error %v, want none", s, err)
			}
			if i == 0 {
				first = key
			}
			if key != first {
				t.Errorf("HostKey(%s) = %q, want %q as for %s", s, key, first, spellings[0])
			}
		}
	}
	keys := make(map[string]string)
	for _, s := range []string{"a.test", "b.test", "192.0.2.1", "192.0.2.256", "192.0.2.1.1", "192.0.0x", "192.0.2.08", "192..2.1", "4294967296", "256.1", "1.2.3.4.test", "127.1", "[64:ff9b::192.0.2.1]", "[::192.0.2.1]", "[::1]", "[fe80::1%eth0]", "[fe80::1%ETH0]", "[fe80::1]"} {
		key, _ := HostKey(t.Context(), &url.URL{Scheme: "http", Host: s})
		if other, ok := keys[key]; ok {
			t.Errorf("%s and %s have the same key %q, want different keys", s, other, key)
		}
		keys[key] = s
	}
}

func TestSpellingsOfAHostWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{Delay: time.Second}
		start := time.Now()
		for i, host := range []string{"192.0.2.1", "[::ffff:192.0.2.1]", "[::ffff:c000:201]:8080", "192.0.2.1:080"} {
			g, err := l.Acquire(t.Context(), &url.URL{Scheme: "http", Host: host})
			if err != nil {
				t.Fatal(err)
			}
			g.Done(Outcome{})
			if got, want := time.Since(start), time.Duration(i)*time.Second; got != want {
				t.Errorf("the request to %s started after %v, want %v", host, got, want)
			}
		}
	})
}

func TestHostLongerThanAnyName(t *testing.T) {
	var letters strings.Builder // 20,000 different letters: IDNA would take half a minute, and net/http too
	for i := range 40_000 {
		letters.WriteRune(rune(0x4e00 + i*7919%20_000))
	}
	huge := letters.String()
	for name, host := range map[string]string{
		"120 KB beyond ASCII":             huge,
		"120 KB of labels beyond ASCII":   strings.Repeat("ü.", 40_000) + "test",
		"4 MB":                            strings.Repeat("a", 4<<20),
		"4 MB of dots":                    "a" + strings.Repeat(".", 4<<20),
		"254 bytes":                       strings.Repeat("a.", 126) + "aa",
		"254 characters":                  strings.Repeat("ü.", 126) + "üü",
		"253 characters, more once in A":  strings.Repeat("ü.", 126) + "ü",
		"a label of 64":                   strings.Repeat("a", 64) + ".test",
		"a label of 64 once in ASCII":     strings.Repeat("ü", 60) + ".test",
		"a label of 64 in the very last":  "a." + strings.Repeat("a", 64),
		"an address with a zone of 10 KB": "[fe80::1%" + strings.Repeat("z", 10_000) + "]",
	} {
		u := &url.URL{Scheme: "http", Host: host, Path: "/"}
		closed, sent := 0, 0
		body := closeFunc(func() { closed++ })
		base := roundTripFunc(func(*http.Request) (*http.Response, error) {
			sent++
			return nil, errors.New("sent")
		})
		start := time.Now()
		_, keyErr := HostKey(t.Context(), u)
		_, err := new(Limiter).Acquire(t.Context(), u)
		_, rtErr := (&Transport{Base: base}).RoundTrip(&http.Request{Method: "POST", URL: u, Body: body})
		took := time.Since(start)
		for what, err := range map[string]error{"HostKey": keyErr, "Acquire": err, "RoundTrip": rtErr} {
			if err == nil || len(err.Error()) > 2048 || !strings.Contains(err.Error(), "longer") {
				t.Errorf("%s: %s: error %.200v, want one of at most 2048 bytes that contains %q", name, what, err, "longer")
			}
		}
		if sent != 0 || closed != 1 {
			t.Errorf("%s: the request was sent %d times, and its body closed %d times; want 0, 1", name, sent, closed)
		}
		if took > time.Second { // a rejection usually takes microseconds, but the machine may be busy
			t.Errorf("%s: rejected after %v, want at most 1s", name, took)
		}
	}
	// The Limiter checks the length even if the user's own Key does not look at
	// the host.
	own := &Limiter{Key: func(context.Context, *url.URL) (string, error) { return "all", nil }}
	if _, err := own.Acquire(t.Context(), &url.URL{Scheme: "http", Host: huge}); err == nil {
		t.Error("Acquire of a host of 120 KB succeeded because the Limiter has a Key, want an error")
	}
}

// A request whose target names another host is an error, because it would reach
// that host at the pace of the URL's host.
func TestTargetOfAnotherHostIsAnError(t *testing.T) {
	for _, tt := range []struct {
		name, opaque, path, host string
		sent                     bool
	}{
		{name: "a path", path: "/x", sent: true},
		{name: "an opaque path", opaque: "/x", sent: true},
		{name: "the same host", opaque: "//a.test/x", sent: true},
		{name: "the same host, spelled otherwise", opaque: "//A.test.:80/x", sent: true},
		{name: "that of the Host header", opaque: "//b.test/x", host: "b.test", sent: true},
		{name: "a Host header alone", path: "/x", host: "b.test", sent: true},
		{name: "OPTIONS *", opaque: "*", sent: true},
		{name: "a path with a URL in it", path: "/http://b.test/", sent: true},
		{name: "another host", opaque: "//b.test/x"},
		{name: "another host in a whole URL", opaque: "http://b.test/x"},
		{name: "another host, and no path", opaque: "//b.test?x"},
		{name: "another host in the path", path: "http://b.test/x"},
		{name: "another host behind a user", opaque: "//a.test@b.test/x"},
		{name: "no host", opaque: "///x"},
	} {
		sent, closed := false, 0
		tr := &Transport{Limiter: &Limiter{Delay: -1}, Base: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			sent = true
			return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
		})}
		req := &http.Request{Method: "GET", Host: tt.host, Body: closeFunc(func() { closed++ }),
			URL: &url.URL{Scheme: "http", Host: "a.test", Opaque: tt.opaque, Path: tt.path}}
		_, err := tr.RoundTrip(req.WithContext(t.Context()))
		if sent != tt.sent || (err == nil) != tt.sent || !sent && closed != 1 {
			t.Errorf("%s: the request was sent: %v, error %v, and its body was closed %d times; want sent: %v", tt.name, sent, err, closed, tt.sent)
		}
	}
}

// closeFunc is the body of a request, and is empty. Close calls the closeFunc.
type closeFunc func()

func (f closeFunc) Read([]byte) (int, error) { return 0, io.EOF }
func (f closeFunc) Close() error             { f(); return nil }

// HostKey allocates nothing for a host that needs no conversion. Such a host
// may have a port and brackets.
func TestHostKeyAllocatesNothingForAPlainHost(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector allocates")
	}
	for _, host := range []string{"www.example.com", "www.example.com:8080", "192.0.2.1", "[2001:db8::1]", "[::1]:8080",
		strings.Repeat(strings.Repeat("a", 49)+".", 5) + "com"} {
		u := &url.URL{Host: host}
		if n := testing.AllocsPerRun(100, func() { HostKey(context.Background(), u) }); n > 0 {
			t.Errorf("HostKey of %s makes %v allocations, want 0", host, n)
		}
	}
}
