package collyrobots

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// hostMemory calls use with URLs of 30 hosts, each a megabyte long, and tests
// that these URLs do not remain in memory, although the hosts do.
func hostMemory(t *testing.T, use func(u *url.URL), hosts func() int) {
	t.Helper()
	const n = 30
	before := testmain.Heap()
	for i := range n {
		u, err := url.Parse(fmt.Sprintf("http://host%d.example/%s", i, strings.Repeat("x", 1<<20)))
		if err != nil {
			t.Fatal(err)
		}
		use(u)
	}
	if grown := testmain.Heap() - before; grown > 10<<20 {
		t.Errorf("%d hosts take %d bytes, want at most %d", n, grown, 10<<20)
	}
	if hosts() != n {
		t.Errorf("%d hosts are stored, want %d", hosts(), n)
	}
	runtime.KeepAlive(use)
}

// Hosts are paused when a request with a long URL begins to wait.
func TestMemoryOfPausedHosts(t *testing.T) {
	x := &Extension{paused: make(map[string]time.Time), opts: robotsmw.Options{Logger: slog.New(slog.DiscardHandler)}}
	now := time.Now()
	hostMemory(t,
		func(u *url.URL) { x.logPause(u, now, now.Add(time.Hour), politeness.ReasonBackOff) },
		func() int { return len(x.paused) })
}

// A request with a long URL is put back, and so is another request for its
// host. Then the first request ends, while the other one still waits.
func TestMemoryOfHosts_PutBack(t *testing.T) {
	limiter := &politeness.Limiter{Delay: -1}
	short := func(u *url.URL) *putBackRequest {
		until := time.Now().Add(time.Hour)
		return &putBackRequest{ctx: t.Context(), url: &url.URL{Host: strings.Clone(u.Host)}, until: until, limiter: limiter}
	}
	for name, giveBack := range map[string]bool{"added": false, "given back": true} {
		t.Run(name, func(t *testing.T) {
			q := &putBackQueue{hosts: make(map[string][]*putBackRequest)}
			hostMemory(t, func(u *url.URL) {
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan bool, 1)
				long := &putBackRequest{ctx: ctx, url: u, limiter: limiter, run: func() { ended <- true }}
				if giveBack {
					q.add(long)
					if q.take() != long {
						t.Fatal("take() did not return the request that was added, want it")
					}
					q.add(short(u))
					q.giveBack(long)
				} else {
					q.add(short(u))
					q.add(long)
				}
				cancel()
				for !q.runDue() {
					runtime.Gosched()
				}
				<-ended
			}, func() int { return len(q.hosts) })
		})
	}
}

// The same happens to an asynchronous collector, whose requests wait in
// goroutines of their own.
func TestMemoryOfHosts_AwaitHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limiter := &politeness.Limiter{Delay: -1}
		var hostQueues sync.Map
		ctx, cancel := context.WithCancel(t.Context())
		hostMemory(t, func(u *url.URL) {
			awaitHost(&hostQueues, &putBackRequest{ctx: ctx, url: u, limiter: limiter})
			short := &putBackRequest{ctx: ctx, url: &url.URL{Host: strings.Clone(u.Host)}, until: time.Now().Add(time.Hour), limiter: limiter}
			go awaitHost(&hostQueues, short)
			time.Sleep(2 * handoverDelay)
		}, func() (n int) {
			for range hostQueues.Range {
				n++
			}
			return n
		})
		cancel()
		time.Sleep(2 * handoverDelay)
	})
}
