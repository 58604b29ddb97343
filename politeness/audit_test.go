package politeness

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// visit is a request as the client or the server saw it. The client's visits
// have no end time.
type visit struct{ start, end time.Time }

type logbook struct {
	mu     sync.Mutex
	visits map[string][]visit
}

func (b *logbook) note(host string, v visit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.visits == nil {
		b.visits = make(map[string][]visit)
	}
	b.visits[host] = append(b.visits[host], v)
}

// TestAuditOverLoopback lets eight workers per host crawl a real server on
// loopback, as fast as the Limiter allows. It checks the pace at the client,
// because a busy machine delays each request by another time on its way to the
// server. At the server, it checks the gap between a response and the next
// request, which no delay shortens. By default it sends 10 requests to each of
// 20 hosts. With COURTESY_AUDIT=200 it sends 40 requests to each of 200 hosts.
func TestAuditOverLoopback(t *testing.T) {
	t.Parallel()
	const workers, delay = 8, 50 * time.Millisecond
	hosts, pages := 20, 10
	if n, _ := strconv.Atoi(os.Getenv("COURTESY_AUDIT")); n > 0 {
		hosts, pages = n, 40
	}
	for _, tt := range []struct {
		name       string
		endToStart bool
	}{{"start to start", false}, {"end to start", true}} {
		t.Run(tt.name, func(t *testing.T) {
			var server, client logbook
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				v := visit{start: time.Now()}
				io.WriteString(w, "hello")
				v.end = time.Now()
				server.note(r.Host, v)
			}))
			defer srv.Close()
			// Every host name leads to this server.
			base := &http.Transport{
				DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
					return new(net.Dialer).DialContext(ctx, network, srv.Listener.Addr().String())
				},
			}
			defer base.CloseIdleConnections()
			inner := roundTripFunc(func(r *http.Request) (*http.Response, error) {
				client.note(r.URL.Host, visit{start: time.Now()})
				return base.RoundTrip(r)
			})
			c := &http.Client{Transport: &Transport{Base: inner, Limiter: &Limiter{Delay: delay, EndToStart: tt.endToStart}}}

			began := time.Now()
			var wg sync.WaitGroup
			for h := range hosts {
				work := make(chan int, pages)
				for p := range pages {
					work <- p
				}
				close(work)
				for range workers {
					wg.Go(func() {
						for p := range work {
							resp, err := c.Get(fmt.Sprintf("http://host%d.example/%d", h, p))
							if err != nil {
								t.Error(err)
								return
							}
							io.Copy(io.Discard, resp.Body)
							resp.Body.Close()
						}
					})
				}
			}
			wg.Wait()
			took, ideal := time.Since(began), time.Duration(pages-1)*delay

			closest, gap := time.Hour, time.Hour
			for h := range hosts {
				host := fmt.Sprintf("host%d.example", h)
				mine, theirs := client.visits[host], server.visits[host]
				if len(mine) != pages || len(theirs) != pages {
					t.Fatalf("%s: %d sent, %d arrived, want %d", host, len(mine), len(theirs), pages)
				}
				byStart := func(a, b visit) int { return a.start.Compare(b.start) }
				slices.SortFunc(mine, byStart)
				slices.SortFunc(theirs, byStart)
				for i := 1; i < pages; i++ {
					closest = min(closest, mine[i].start.Sub(mine[i-1].start))
					gap = min(gap, theirs[i].start.Sub(theirs[i-1].end))
				}
			}
			t.Logf("%d hosts, %d pages each: closest starts %v, smallest gap at the server %v, %v in all, %.3f times the ideal",
				hosts, pages, closest, gap, took, float64(took)/float64(ideal))
			if closest < delay {
				t.Errorf("two starts were only %v apart, want %v at least", closest, delay)
			}
			if tt.endToStart && gap < delay-time.Millisecond {
				t.Errorf("the server saw a gap of %v, want %v at least", gap, delay)
			}
		})
	}
}
