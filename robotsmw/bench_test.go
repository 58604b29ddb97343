package robotsmw

import (
	"archive/tar"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// typicalRobots returns a robots.txt with one group: 45 rules without
// wildcards, and 15 with them.
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
	text := typicalRobots()
	base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/robots.txt" {
			return newResponse(r, http.StatusOK, text), nil
		}
		return &http.Response{StatusCode: 200, Header: emptyHeader, Body: http.NoBody, Request: r}, nil
	})
	tr := newTestTransport(tb, base)
	decide(tb, tr.Checker(), "https://example.com/")
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
	for name, rt := range map[string]http.RoundTripper{"bare": tr.cfg.sender, "robots": tr} {
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

// A check of a URL of a cached origin takes at most one allocation. A Transport
// adds five allocations to a request. The budgets are twice as high, except
// those of zero.
func TestAllocationBudgets(t *testing.T) {
	tr := warm(t)
	c := tr.Checker()
	for raw, budget := range map[string]float64{
		"https://example.com/section-7/public/page.html":   0,
		"https://example.com/section-7/private/page.html":  0,
		"https://example.com/section-7/public/page?id=1":   0,
		"https://example.com/section-7/public/%7Epage%20x": 2,
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
	if n := cost(tr) - cost(tr.cfg.sender); n > 10 {
		t.Errorf("RoundTrip adds %v allocations, want at most 10", n)
	}
}

// BenchmarkMillionOrigins fills a cache with b.N origins, and reports how many
// bytes an origin takes. Each origin has a real robots.txt, chosen at random
// from the corpus. Run it with -benchtime=1000000x.
func BenchmarkMillionOrigins(b *testing.B) {
	files := corpusFiles(b)
	rnd := rand.New(rand.NewPCG(1, 2))
	base := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		return newResponse(r, http.StatusOK, string(files[rnd.IntN(len(files))])), nil
	})
	c := newTestTransport(b, base, func(o *Options) {
		o.MaxOrigins, o.MaxBytes = 1<<30, 1<<40
	}).Checker()
	before := testmain.Heap()
	n := 0
	for b.Loop() { // fetches run one after another, so rnd needs no lock
		if _, err := c.Check(b.Context(), &url.URL{Scheme: "https", Host: fmt.Sprintf("host-%d.example", n), Path: "/"}); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(testmain.Heap()-before)/float64(n), "B/origin")
	b.ReportMetric(float64(c.Stats().Bytes)/float64(n), "accounted-B/origin")
	runtime.KeepAlive(files)
}

// corpusFiles reads real robots.txt files from the corpus in the directory that
// the environment variable COURTESY_SHARED names.
func corpusFiles(tb testing.TB) [][]byte {
	tb.Helper()
	shared := os.Getenv("COURTESY_SHARED")
	if shared == "" {
		tb.Skip("COURTESY_SHARED is not set: the corpus of real robots.txt files is not available")
	}
	if !filepath.IsAbs(shared) {
		shared = filepath.Join("..", shared) // a relative path starts at the module's root
	}
	f, err := os.Open(filepath.Join(shared, "corpus", "corpus.tar.gz"))
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		tb.Fatal(err)
	}
	var files [][]byte
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			tb.Fatal(err)
		}
		if strings.HasPrefix(strings.TrimPrefix(h.Name, "./"), "robots/") && h.Typeflag == tar.TypeReg {
			body, err := io.ReadAll(r)
			if err != nil {
				tb.Fatal(err)
			}
			files = append(files, body)
		}
	}
}
