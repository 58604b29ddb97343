//go:build unix

package evidence

import (
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// BenchmarkCost measures how much CPU time it takes to record a request. It
// reads the time of the whole process, in user space and in the kernel, with
// getrusage(2). This includes the goroutine of the request, the writer's
// goroutine and the garbage collector. The time of waiting for a disk is not
// included.
//
// An operation is a pair of rounds. Both rounds send the same requests through
// a client over a network in memory: the first round without a record, the
// second round with one. The results are medians of the differences between the
// two rounds: user-µs/req, sys-µs/req, and their sum cpu-µs/req, which should
// stay below 10. Run twenty operations: -benchtime 20x.
func BenchmarkCost(b *testing.B) {
	rec, err := Open(b.TempDir(), Options{Logger: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	recorded, plain := costOf(b, rec), costOf(b, nil)
	const round = 20_000
	recorded(round)
	rec.wait()
	plain(round)
	var user, system, both []float64
	for b.Loop() {
		var used [3]syscall.Rusage
		usage(b, &used[0])
		plain(round)
		usage(b, &used[1])
		recorded(round)
		rec.wait()
		usage(b, &used[2])
		u := micros(used[2].Utime) - 2*micros(used[1].Utime) + micros(used[0].Utime)
		s := micros(used[2].Stime) - 2*micros(used[1].Stime) + micros(used[0].Stime)
		user, system, both = append(user, u/round), append(system, s/round), append(both, (u+s)/round)
	}
	if err := rec.Close(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(median(user), "user-µs/req")
	b.ReportMetric(median(system), "sys-µs/req")
	b.ReportMetric(median(both), "cpu-µs/req")
	b.ReportMetric(0, "ns/op")
}

// costOf returns a function that sends the given number of requests. If rec is
// not nil, it records them.
func costOf(b *testing.B, rec *Recorder) func(requests int) {
	var web robotstest.Internet
	web.Handle("www.example.com", robotstest.Site{"/robots.txt": "User-agent: *\n" +
		"Allow: /articles/\n" +
		"Disallow: /articles/private\n"})
	opts := robotsmw.Options{UserAgent: agent, Logger: quiet(), Limiter: &politeness.Limiter{Delay: -1}, Base: base(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/robots.txt" {
			return web.RoundTrip(r)
		}
		return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	})}
	if rec != nil {
		if err := rec.Observe(&opts); err != nil {
			b.Fatal(err)
		}
	}
	client, err := robotsmw.NewClient(opts)
	if err != nil {
		b.Fatal(err)
	}
	req, err := http.NewRequestWithContext(
		b.Context(),
		http.MethodGet,
		"http://www.example.com/articles/2026/11/22/a-page-with-a-usual-name.html",
		nil,
	)
	if err != nil {
		b.Fatal(err)
	}
	return func(requests int) {
		for i := range requests {
			resp, err := client.Transport.RoundTrip(req)
			if err != nil {
				b.Fatal(err)
			}
			resp.Body.Close()
			if rec != nil && i%1000 == 0 {
				rec.wait() // otherwise the queue could overflow: no real crawl is this fast
			}
		}
	}
}

func usage(b *testing.B, u *syscall.Rusage) {
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, u); err != nil {
		b.Fatal(err)
	}
}

func micros(t syscall.Timeval) float64 { return float64(time.Duration(t.Nano())) / 1e3 }

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}
