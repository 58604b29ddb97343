package revisit

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// TestMemory_LongHeaderLines checks that MaxBytes includes the directives of
// pages whose X-Robots-Tag lines have 500 KB. The stored rules must not retain
// these lines, which have 50 MB in total.
func TestMemory_LongHeaderLines(t *testing.T) {
	for name, line := range map[string]string{
		"many rules":       "noindex, max-snippet: 20, unavailable_after: 2030-06-25, nofollow,",
		"unknown rules":    "strange, other: strange,",
		"for other robots": "noindex, otherbot: " + strings.Repeat("noindex,", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			const maxBytes = 1 << 20
			n := 0
			base := roundTripper(func(req *http.Request) (*http.Response, error) {
				n++
				long := line + strings.Repeat("x", 500<<10) + fmt.Sprint(n)
				return &http.Response{
					StatusCode: 200,
					Body:       io.NopCloser(strings.NewReader("a page")),
					Request:    req,
					Header: http.Header{
						"Etag":         {fmt.Sprintf(`"%d"`, n)},
						"X-Robots-Tag": {long},
					},
				}, nil
			})
			transport := &Transport{Base: base, MaxBytes: maxBytes}
			client := &http.Client{Transport: transport}
			before := testmain.Heap()
			for i := range 100 {
				resp, err := client.Get(fmt.Sprintf("http://a.example/%d", i))
				if err != nil {
					t.Fatal(err)
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
			}
			if grown := testmain.Heap() - before; grown > 2*maxBytes {
				t.Errorf("the cache takes %d bytes, want at most twice MaxBytes, which is %d",
					grown, maxBytes)
			}
			if n := len(transport.cache.(*memoryCache).entries); n == 0 {
				t.Error("no page is stored, want at least one")
			}
			runtime.KeepAlive(transport)
		})
	}
}
