package htmlmeta

import (
	"slices"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// scanSlow is a slow version of Scan that tokenizes the whole page.
func scanSlow(page []byte, tokens ...string) robotsmeta.Directives {
	s := Scanner{Tokens: tokens}
	s.Write(page)
	s.tokenize(len(s.buf), false)
	return s.directives
}

func rules(d robotsmeta.Directives) []robotsmeta.Rule { return slices.Collect(d.Rules()) }

func FuzzScan(f *testing.F) {
	for _, page := range []string{
		"<html><head>" + robots + "</head>",
		`<meta content="a>b, noindex" name="robots"><script>"<meta name='"</script>` + robots,
		"<svg><title>" + robots + "</title></svg><template>" + robots + "</template>\n" + robots,
		`<meta/name="robots"/content="noindex"><meta name="&#114;obots" content="no&#105;ndex">`,
		"<!-- " + robots + " --><noscript><meta name=\"tdm-reservation\" content=1></noscript>",
		"\xff\xfe" + utf16le(robots), "\xfe\xff\xd8\x00" + utf16be(robots),
		"<meta <meta <meta >" + robots,
	} {
		f.Add([]byte(page), byte(3))
	}
	f.Fuzz(func(t *testing.T, page []byte, piece byte) {
		want := rules(scanSlow(page, "ExampleBot"))
		if got := rules(Scan(page, "ExampleBot")); !slices.Equal(got, want) {
			t.Fatalf("Scan(%q) has the rules\n%+v, want\n%+v", page, got, want)
		}
		s := Scanner{Tokens: []string{"ExampleBot"}}
		for p, i := page, 0; len(p) > 0; i++ {
			n := min(1+int(piece), len(p))
			s.Write(p[:n])
			p = p[n:]
			if i%3 == 0 {
				s.Directives()
			}
			if i%5 == 0 && piece&1 == 0 {
				s.HeadDone()
			}
		}
		if got := rules(s.Directives()); !slices.Equal(got, want) {
			t.Fatalf("%q in pieces of %d bytes has the rules\n%+v, want\n%+v",
				page, 1+int(piece), got, want)
		}
	})
}
