package record

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// Most files have no Sitemap lines, and a crawler keeps the documents of many
// origins. Such a document takes as much memory as one without the list: the
// pointer fits into the 64 bytes that are allocated for a Document.
func TestDocumentWithoutSitemapLines(t *testing.T) {
	d := (&Kind{Tokens: []string{"ExampleBot"}}).Document([]byte(someRules + "Sitemap:\n"))
	if d.sitemaps != nil || d.Cost() != int64(160+d.Rules.Size()) {
		t.Errorf("the list is %+v, and the Cost %d; want no list, and no Cost for it", d.sitemaps, d.Cost())
	}
	if n := unsafe.Sizeof(*d); n > 64 {
		t.Errorf("a Document has %d bytes, want at most 64, because 80 or more are allocated otherwise", n)
	}
}

// Each of 50 files has one Sitemap line and 490 KB of comments. Their documents
// keep only the line. If they kept the file, a crawler would need many times
// MaxBytes.
func TestMemoryOfSitemaps(t *testing.T) {
	for _, n := range []int{1, 2} {
		lines := strings.Repeat("Sitemap: https://a.example/sitemap.xml\n", n)
		kind := &Kind{Tokens: []string{"ExampleBot"}}
		var documents []*Document
		cost := int64(0)
		before := testmain.Heap()
		for i := range 50 {
			body := []byte(someRules + lines + fmt.Sprint("#", i) + strings.Repeat("#", 490_000))
			documents = append(documents, kind.Document(body))
			cost += documents[i].Cost()
		}
		if grown := testmain.Heap() - before; grown > 2*cost {
			t.Errorf("%d Sitemap lines: 50 documents take %d bytes, and their Cost is %d, want at most twice that", n, grown, cost)
		}
		values, again := documents[7].Sitemaps(), documents[7].Sitemaps()
		if len(values) != n || values[0] != "https://a.example/sitemap.xml" || unsafe.StringData(values[0]) == unsafe.StringData(again[0]) {
			t.Errorf("got %q, want the lines, copied for each caller", values)
		}
		runtime.KeepAlive(documents)
	}
}
