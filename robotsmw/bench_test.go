package robotsmw

import (
	"fmt"
	"net/http"
	"runtime"
	"testing"
	"time"
)

// typicalRobots has a group of 45 literal and 15 wildcard rules.
func typicalRobots() string {
	text := "User-agent: *\n"
	for i := range 45 {
		text += fmt.Sprintf("Disallow: /section-%d/private/\n", i)
	}
	for i := range 15 {
		text += fmt.Sprintf("Disallow: /*/print-%d$\n", i)
	}
	return text
}

func warm(tb testing.TB) *Transport {
	tb.Helper()
	base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: emptyHeader, Body: http.NoBody, Request: r}, nil
	})
	tr := newTestTransport(tb, base)
	c := tr.Checker()
	now := time.Now()
	for _, origin := range []string{"https://example.com"} {
		_, f, _, _ := c.begin(origin, now, false)
		rec := c.accepted(f, mustURL(tb, f.robotsURL), 0, answer{status: 200, header: http.Header{}, body: []byte(typicalRobots())}, now)
		c.cache.end(f, rec, now)
	}
	return tr
}

var emptyHeader = http.Header{}

func BenchmarkCheck(b *testing.B) {
	for name, raw := range map[string]string{
		"path":      "https://example.com/section-7/public/page.html",
		"query":     "https://example.com/section-7/public/page.html?id=1&sort=asc",
		"disallow":  "https://example.com/section-7/private/page.html",
		"uppercase": "https://EXAMPLE.com/section-7/public/page.html",
	} {
		u := mustURL(b, raw)
		b.Run(name, func(b *testing.B) {
			c := warm(b).Checker()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Check(b.Context(), u); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	u := mustURL(b, "https://example.com/section-7/public/page.html")
	for _, procs := range []int{1, 2} {
		b.Run(fmt.Sprintf("parallel-%d", procs), func(b *testing.B) {
			c := warm(b).Checker()
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := c.Check(b.Context(), u); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

func BenchmarkRoundTrip(b *testing.B) {
	tr := warm(b)
	req, _ := http.NewRequest("GET", "https://example.com/section-7/public/page.html", nil)
	req.Header.Set("User-Agent", testAgent)
	for name, rt := range map[string]http.RoundTripper{"bare": tr.cfg.Base, "robots": tr} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				resp, err := rt.RoundTrip(req)
				if err != nil {
					b.Fatal(err)
				}
				resp.Body.Close()
			}
		})
	}
}

// Budgets: a cached origin costs at most one allocation to check, and three
// on the way of a request.
func TestAllocationBudgets(t *testing.T) {
	tr := warm(t)
	c := tr.Checker()
	for raw, budget := range map[string]float64{
		"https://example.com/section-7/public/page.html":   0,
		"https://example.com/section-7/private/page.html":  0,
		"https://example.com/section-7/public/page?id=1":   1,
		"https://example.com/section-7/public/%7Epage%20x": 1,
	} {
		u := mustURL(t, raw)
		if n := testing.AllocsPerRun(100, func() {
			if _, err := c.Check(t.Context(), u); err != nil {
				t.Fatal(err)
			}
		}); n > budget {
			t.Errorf("Check(%s): %v allocations, want at most %v", raw, n, budget)
		}
	}
	req, _ := http.NewRequest("GET", "https://example.com/section-7/public/page.html", nil)
	req.Header.Set("User-Agent", testAgent)
	cost := func(rt http.RoundTripper) float64 {
		return testing.AllocsPerRun(100, func() {
			resp, err := rt.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
		})
	}
	if n := cost(tr) - cost(tr.cfg.Base); n > 3 {
		t.Errorf("RoundTrip adds %v allocations, want at most 3", n)
	}
}
