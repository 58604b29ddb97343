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
	c.marksLeft = math.MaxInt
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		add(c, fetched(urls[n%len(urls)], "a.example", n))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	marks := len(c.hosts["a.example"].marks)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(marks), "B/mark")
}

// fetched returns the record of a page that was requested in the given second.
func fetched(url, host string, second int) record.Record {
	request := record.Request{At: float64(second), Took: 0.1, Status: 200, Interval: 1}
	return record.Record{
		Verdict:  record.Fetched,
		URL:      url,
		Host:     host,
		Status:   200,
		Requests: []record.Request{request},
	}
}

func BenchmarkWrite(b *testing.B) {
	c := New("", "", time.Now(), time.Second)
	for h := range 200 {
		host := fmt.Sprintf("host-%d.example", h)
		for n := range 5000 {
			add(c, fetched(fmt.Sprintf("http://%s/archive/%d", host, n), host, n))
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
