package report

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// BenchmarkAdd measures the memory that a Crawl needs for a request. It does
// not count the URL, because the frontier keeps the URL anyway.
func BenchmarkAdd(b *testing.B) {
	var urls [1000]string
	for i := range urls {
		urls[i] = fmt.Sprintf("http://a.example/archive/%d", i)
	}
	c := New("", "", time.Now(), time.Second)
	c.room = math.MaxInt
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		add(c, record.Record{Verdict: record.Fetched, URL: urls[n%len(urls)], Host: "a.example", Status: 200,
			Requests: []record.Request{{At: float64(n), Took: 0.1, Status: 200, Interval: 1}}})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(len(c.hosts["a.example"].marks)), "B/mark")
}

func BenchmarkWrite(b *testing.B) {
	c := New("", "", time.Now(), time.Second)
	for h := range 200 {
		host := fmt.Sprintf("host-%d.example", h)
		for n := range 5000 {
			add(c, record.Record{Verdict: record.Fetched, URL: fmt.Sprintf("http://%s/archive/%d", host, n), Host: host, Status: 200,
				Requests: []record.Request{{At: float64(n), Took: 0.1, Status: 200, Interval: 1}}})
		}
	}
	var out counter
	b.ReportAllocs()
	for b.Loop() {
		out = 0
		if err := c.Write(&out, record.Summary{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(out)/1e6, "MB")
}

type counter int

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
