package sitemap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// TestWalk_LongURLs checks that Walk limits the memory for the URLs of
// sitemaps, which have 60 KB each, in indexes that list further indexes.
func TestWalk_LongURLs(t *testing.T) {
	long := strings.Repeat("x", 60_000)
	fetched := 0
	fetch := func(context.Context, string) (io.ReadCloser, error) {
		fetched++
		if fetched > 2*MaxSitemaps {
			t.Fatalf("%d files were fetched, want at most %d", fetched, MaxSitemaps)
		}
		var locs []string
		if fetched < 20 {
			for i := range 100 {
				locs = append(locs, fmt.Sprint(fetched, ".", i, long))
			}
		}
		return io.NopCloser(strings.NewReader(sitemapIndex(locs...))), nil
	}
	limited := 0
	for _, err := range Walk(t.Context(), fetch, "s0") {
		if errors.Is(err, ErrTooManySitemaps) {
			limited++
		}
	}
	if limited == 0 {
		t.Errorf("Walk yields no error, want %v", ErrTooManySitemaps)
	}
	maxFiles := maxKnownBytes/len(long) + 1
	if fetched > maxFiles || fetched < maxFiles-20 {
		t.Errorf("%d files were fetched, want %d to %d", fetched, maxFiles-20, maxFiles)
	}
}

// TestRead_WhiteSpace checks that a Loc does not retain the 60 KB of white
// space before the URL.
func TestRead_WhiteSpace(t *testing.T) {
	var file strings.Builder
	for i := range 200 {
		fmt.Fprintf(&file,
			"<url><loc>%shttp://a.example/%d</loc></url>", strings.Repeat(" ", 60_000), i)
	}
	text := "<urlset>" + file.String() + "</urlset>"
	var kept []string
	before := testmain.Heap()
	for e, err := range Read(strings.NewReader(text)) {
		if err != nil {
			t.Fatal(err)
		}
		kept = append(kept, e.Loc)
	}
	if grown := testmain.Heap() - before; grown > 2<<20 {
		t.Errorf("200 URLs take %d bytes, want at most 2 MiB", grown)
	}
	if len(kept) != 200 || kept[199] != "http://a.example/199" {
		t.Errorf("Read yields %d URLs, want 200, the last of which ends with 199", len(kept))
	}
	runtime.KeepAlive(kept)
	runtime.KeepAlive(text)
}
