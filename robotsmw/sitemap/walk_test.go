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
)

// files maps URLs to sitemaps.
type files map[string]string

// body counts the bodies that are open.
type body struct {
	io.Reader
	open *int
}

func (b body) Close() error { *b.open--; return nil }

// sitemapIndex returns an index of these sitemaps.
func sitemapIndex(locs ...string) string {
	return "<sitemapindex><sitemap><loc>" + strings.Join(locs, "</loc></sitemap><sitemap><loc>") + "</loc></sitemap></sitemapindex>"
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
		"one": {files{"s0": url("1")}, []string{"1"}, nil},
		"an index": {
			files: files{"s0": sitemapIndex("a", "b"), "a": url("1"), "b": packed(url("2"))},
			want:  []string{"1", "2"},
		},
		"an index of indexes": {
			files: files{"s0": sitemapIndex("a"), "a": sitemapIndex("b"), "b": "http://x/1\n"},
			want:  []string{"http://x/1"},
		},
		"a circle": {
			files: files{"s0": sitemapIndex("a"), "a": sitemapIndex("s0", "a", "b"), "b": url("1")},
			want:  []string{"1"},
		},
		"listed twice": {
			files: files{"s0": sitemapIndex("a", "a"), "a": url("1")},
			want:  []string{"1"},
		},
		"a page listed twice": {
			files: files{"s0": sitemapIndex("a", "b"), "a": url("1"), "b": url("1")},
			want:  []string{"1", "1"},
		},
		"one is missing": {
			files: files{"s0": sitemapIndex("a", "b"), "b": url("2")},
			want:  []string{"2"},
			errs:  map[string]error{"a": fs.ErrNotExist},
		},
		"one is a page": {
			files: files{"s0": sitemapIndex("a", "b"), "a": "<html>", "b": url("2")},
			want:  []string{"2"},
			errs:  map[string]error{"a": ErrNotSitemap},
		},
		"one breaks off": {
			files: files{"s0": sitemapIndex("a", "b"), "a": url("1") + "\x00broken", "b": url("2")},
			want:  []string{"1", "2"},
			errs:  map[string]error{"a": broken},
		},
		"an index breaks off": {
			files: files{"s0": sitemapIndex("a") + "\x00broken", "a": url("1")},
			want:  []string{"1"},
			errs:  map[string]error{"s0": broken},
		},
		"pages beside an index": {
			files: files{"s0": "<urlset><url><loc>1</loc></url><sitemap><loc>a</loc></sitemap></urlset>", "a": url("2")},
			want:  []string{"1", "2"},
		},
		"too deep": {
			files: deep,
			want:  []string{"page0", "page1", "page2", "page3", "page4"},
			errs:  map[string]error{fmt.Sprint("s", MaxDepth): ErrTooDeep},
		},
		"nothing": {files{"s0": ""}, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			open := 0
			fetch := func(_ context.Context, loc string) (io.ReadCloser, error) {
				text, ok := tt.files[loc]
				if !ok {
					return nil, fs.ErrNotExist
				}
				if open++; open > 1 {
					t.Error("two bodies are open")
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
					t.Errorf("%+v: a body is open in the loop", e)
				}
				if err != nil {
					if !e.Index {
						t.Errorf("%+v with %v", e, err)
					}
					errs[e.Loc] = err
					continue
				}
				if e.Index {
					t.Errorf("%+v is no page", e)
				}
				got = append(got, e.Loc)
			}
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
			if len(errs) != len(tt.errs) {
				t.Errorf("errors %v, want %v", errs, tt.errs)
			}
			for loc, want := range tt.errs {
				if !errors.Is(errs[loc], want) {
					t.Errorf("%s: %v, want %v", loc, errs[loc], want)
				}
			}
		})
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

// An index that lists indexes, each with other sitemaps, never ends.
func TestWalk_TooManySitemaps(t *testing.T) {
	fetched, pages := 0, 0
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
	if fetched != MaxSitemaps || pages == 0 || len(errs) == 0 || !errors.Is(errs[0], ErrTooManySitemaps) {
		t.Errorf("%d sitemaps, %d pages, %d errors", fetched, pages, len(errs))
	}
}

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
		t.Errorf("after a break, %d sitemaps were fetched", fetched)
	}
	fetched = 0
	var last error
	for _, err := range Walk(ctx, fetch, "a", "b") {
		cancel()
		last = err
	}
	if fetched != 1 || !errors.Is(last, context.Canceled) {
		t.Errorf("after the end of the context, %d sitemaps were fetched: %v", fetched, last)
	}
}
