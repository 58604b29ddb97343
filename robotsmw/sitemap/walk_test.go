package sitemap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// files maps URLs to sitemaps.
type files map[string]string

// A body is a body that decrements the number of open bodies when it is closed.
type body struct {
	io.Reader
	open *int
}

func (b body) Close() error {
	*b.open--
	return nil
}

// sitemapIndex returns an index of sitemaps.
func sitemapIndex(locs ...string) string {
	var b strings.Builder
	for _, loc := range locs {
		b.WriteString("<sitemap><loc>" + loc + "</loc></sitemap>")
	}
	return "<sitemapindex>" + b.String() + "</sitemapindex>"
}

func TestWalk(t *testing.T) {
	broken := errors.New("broken")
	deep := make(files)
	for i := range MaxDepth + 3 {
		deep[fmt.Sprint("s", i)] = sitemapIndex(fmt.Sprint("s", i+1), fmt.Sprint("p", i))
		deep[fmt.Sprint("p", i)] = url(fmt.Sprint("page", i))
	}
	for name, tt := range map[string]struct {
		files files
		want  []string
		errs  map[string]error // by the URL of the sitemap
	}{
		"one sitemap": {files{"s0": url("1")}, []string{"1"}, nil},
		"an index": {
			files: files{"s0": sitemapIndex("a", "b"), "a": url("1"), "b": packed(url("2"))},
			want:  []string{"1", "2"},
		},
		"an index of indexes": {
			files: files{"s0": sitemapIndex("a"), "a": sitemapIndex("b"), "b": "http://x/1\n"},
			want:  []string{"http://x/1"},
		},
		"a circle of indexes": {
			files: files{"s0": sitemapIndex("a"), "a": sitemapIndex("s0", "a", "b"), "b": url("1")},
			want:  []string{"1"},
		},
		"a sitemap listed twice": {
			files: files{"s0": sitemapIndex("a", "a"), "a": url("1")},
			want:  []string{"1"},
		},
		"a page listed twice": {
			files: files{"s0": sitemapIndex("a", "b"), "a": url("1"), "b": url("1")},
			want:  []string{"1", "1"},
		},
		"a missing sitemap": {
			files: files{"s0": sitemapIndex("a", "b"), "b": url("2")},
			want:  []string{"2"},
			errs:  map[string]error{"a": fs.ErrNotExist},
		},
		"an HTML page instead of a sitemap": {
			files: files{"s0": sitemapIndex("a", "b"), "a": "<html>", "b": url("2")},
			want:  []string{"2"},
			errs:  map[string]error{"a": ErrNotSitemap},
		},
		"a sitemap that fails to be read": {
			files: files{"s0": sitemapIndex("a", "b"), "a": url("1") + "\x00broken", "b": url("2")},
			want:  []string{"1", "2"},
			errs:  map[string]error{"a": broken},
		},
		"an index that fails to be read": {
			files: files{"s0": sitemapIndex("a") + "\x00broken", "a": url("1")},
			want:  []string{"1"},
			errs:  map[string]error{"s0": broken},
		},
		"a file with pages and sitemaps": {
			files: files{"s0": "<urlset><url><loc>1</loc></url><sitemap><loc>a</loc></sitemap></urlset>", "a": url("2")},
			want:  []string{"1", "2"},
		},
		"indexes that are nested too deeply": {
			files: deep,
			want:  []string{"page0", "page1", "page2", "page3", "page4"},
			errs:  map[string]error{fmt.Sprint("s", MaxDepth): ErrTooDeep},
		},
		"an empty sitemap": {files{"s0": ""}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			open := 0
			fetch := func(_ context.Context, loc string) (io.ReadCloser, error) {
				text, ok := tt.files[loc]
				if !ok {
					return nil, fs.ErrNotExist
				}
				open++
				if open > 1 {
					t.Errorf("%d bodies are open, want at most 1", open)
				}
				if text, fails := strings.CutSuffix(text, "\x00broken"); fails {
					return body{
						io.MultiReader(strings.NewReader(text), errReader{broken}),
						&open,
					}, nil
				}
				return body{strings.NewReader(text), &open}, nil
			}
			var got []string
			errs := make(map[string]error)
			for e, err := range Walk(t.Context(), fetch, "s0") {
				if open != 0 {
					t.Errorf("%d bodies are open when Walk yields %+v, want none", open, e)
				}
				if isError := err != nil; e.Index != isError {
					t.Errorf("Walk yields %+v, %v, want Index only with an error", e, err)
				}
				if err != nil {
					errs[e.Loc] = err
					continue
				}
				got = append(got, e.Loc)
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("Walk yields the pages %q, want %q", got, tt.want)
			}
			if len(errs) != len(tt.errs) {
				t.Errorf("Walk yields the errors %v, want %v", errs, tt.errs)
			}
			for loc, want := range tt.errs {
				if !errors.Is(errs[loc], want) {
					t.Errorf("Walk yields the error %v for %s, want %v", errs[loc], loc, want)
				}
			}
		})
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// TestWalk_TooManySitemaps checks indexes that list further indexes without an
// end.
func TestWalk_TooManySitemaps(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector finds nothing in one goroutine, and makes this ten times slower")
	}
	fetched := 0
	pages := 0
	fetch := func(_ context.Context, loc string) (io.ReadCloser, error) {
		fetched++
		if strings.Contains(loc, "-") {
			return io.NopCloser(strings.NewReader(url(loc))), nil
		}
		var lists []string
		for i := range 1000 {
			separator := "-"
			if i < 4 {
				separator = "."
			}
			lists = append(lists, fmt.Sprint(loc, separator, i))
		}
		return io.NopCloser(strings.NewReader(sitemapIndex(lists...))), nil
	}
	var errs []error
	for _, err := range Walk(t.Context(), fetch, "s") {
		if err != nil {
			errs = append(errs, err)
			continue
		}
		pages++
	}
	if fetched != MaxSitemaps || pages == 0 {
		t.Errorf("%d sitemaps were fetched with %d pages, want %d with some", fetched, pages, MaxSitemaps)
	}
	if len(errs) == 0 || !errors.Is(errs[0], ErrTooManySitemaps) {
		t.Errorf("Walk yields %d errors, want at least one, the first of which is %v", len(errs), ErrTooManySitemaps)
	}
}

// TestWalk_Ends checks that no sitemap is fetched after a break, or after the
// context was canceled.
func TestWalk_Ends(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	fetched := 0
	fetch := func(_ context.Context, loc string) (io.ReadCloser, error) {
		fetched++
		return io.NopCloser(strings.NewReader(url("1"))), nil
	}
	for range Walk(ctx, fetch, "a", "b") {
		break
	}
	if fetched != 1 {
		t.Errorf("with a break, %d sitemaps were fetched, want 1", fetched)
	}
	fetched = 0
	var last error
	for _, err := range Walk(ctx, fetch, "a", "b") {
		cancel()
		last = err
	}
	if fetched != 1 || !errors.Is(last, context.Canceled) {
		t.Errorf("with a canceled context, %d sitemaps were fetched and the last error is %v, want 1 and %v",
			fetched, last, context.Canceled)
	}
}
