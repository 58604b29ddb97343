package robotsmw

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// After a crawl over real sockets, CloseIdleConnections leaves no goroutine, no
// connection and no open file.
func TestNothingIsLeft(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	files := openFiles(t)

	var servers []*httptest.Server
	for i := range 10 {
		h := []http.Handler{robots(someRules), status(404), status(503), robots(shutRules),
			redirectRobots("/static/robots.txt", nil)}[i%5]
		servers = append(servers, httptest.NewServer(h))
	}
	base := http.DefaultTransport.(*http.Transport).Clone()
	client := &http.Client{Transport: newTestTransport(t, base)}
	var wg sync.WaitGroup
	for _, s := range servers {
		for j := range 20 {
			wg.Go(func() {
				path := []string{"/", "/private/", "/page"}[j%3]
				resp, err := client.Get(s.URL + path)
				if err != nil {
					if !errors.Is(err, ErrDisallowed) && !errors.Is(err, ErrUnreachable) {
						t.Errorf("Get returned error %v, want none, ErrDisallowed or ErrUnreachable", err)
					}
					return
				}
				if j%2 == 0 { // the other requests close the body early
					io.Copy(io.Discard, resp.Body)
				}
				resp.Body.Close()
			})
		}
	}
	wg.Wait()
	client.CloseIdleConnections()
	for _, s := range servers {
		s.Close()
	}
	for deadline := time.Now().Add(time.Minute); openFiles(t) > files; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d files are open, want %d, as before", openFiles(t), files)
		}
	}
}

// openFiles counts the open files of this process on Linux. Elsewhere it
// returns 0.
func openFiles(t *testing.T) int {
	t.Helper()
	if runtime.GOOS != "linux" {
		return 0
	}
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(fds)
}
