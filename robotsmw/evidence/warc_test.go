package evidence

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// A crawl is redirected to thousands of robots.txt files whose URLs have 8 KiB
// each. The memory that a warcFile needs for later revisit records must not
// depend on the length of these URLs. Otherwise 100,000 of them would require
// 800 MB.
func TestMemoryOfResponses(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector takes memory of its own")
	}
	const n = 3000
	w := new(warcFile)
	w.begin("robots-1.warc.gz", time.Now())
	before := testmain.Heap()
	long := strings.Repeat("a", 8<<10)
	for i := range n {
		w.addExchange(&exchange{
			url:    fmt.Sprintf("http://host%d.example/%s", i, long),
			header: []byte("HTTP/1.1 200 OK\r\n\r\n"),
			whole:  true,
		})
		if err := w.flush(io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.known) != n {
		t.Fatalf("the warcFile keeps %d responses, want %d", len(w.known), n)
	}
	grown := int64(testmain.Heap()) - int64(before)
	if limit := int64(n * 1000); grown > limit {
		t.Errorf("%d responses take %d bytes, want %d at most", n, grown, limit)
	}
	runtime.KeepAlive(w)
}

// A revisit record refers to the earlier response for the same URL and Host,
// and to no other response.
func TestRevisitRefersToTheSameURLAndHost(t *testing.T) {
	for _, tt := range []struct {
		url, host string
		refers    bool
	}{
		{"http://a.example/robots.txt", "", true},
		{"http://a.example/robots.txt", "b.example", false},
		{"http://b.example/robots.txt", "", false},
	} {
		w := new(warcFile)
		w.begin("robots-1.warc.gz", time.Now())
		head := []byte("HTTP/1.1 200 OK\r\n\r\n")
		w.addExchange(&exchange{url: "http://a.example/robots.txt", header: head, whole: true})
		first := w.known
		w.out = nil
		w.addExchange(&exchange{url: tt.url, host: tt.host, header: head, renewed: true})
		if got := strings.Contains(unpacked(t, w.out), "WARC-Refers-To: "); got != tt.refers || len(first) != 1 {
			t.Errorf("the revisit of %s with the Host %q refers to the first response: %t, want %t", tt.url, tt.host, got, tt.refers)
		}
	}
}

func unpacked(t *testing.T, packed []byte) string {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
