package record

import (
	"testing"
	"unsafe"
)

// Most files have no Sitemap lines, and a crawler keeps the documents of many
// origins. Such a document takes as much memory as one without the list: the
// pointer fits into the 64 bytes that are allocated for a Document.
func TestDocumentWithoutSitemapLines(t *testing.T) {
	d := (&Kind{Tokens: []string{"ExampleBot"}}).Document([]byte(someRules + "Sitemap:\n"))
	if d.sitemaps != nil || d.Cost() != int64(160+d.Rules.Size()) {
		t.Errorf("%+v at a cost of %d", d.sitemaps, d.Cost())
	}
	if n := unsafe.Sizeof(*d); n > 64 {
		t.Errorf("a Document has %d bytes, so 80 or more are allocated for it", n)
	}
}
