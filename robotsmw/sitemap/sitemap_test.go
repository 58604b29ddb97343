package sitemap

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

func packed(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return b.String()
}

// collect returns the entries as texts, such as "index URL date", and the
// error.
func collect(r io.Reader) (lines []string, err error) {
	for e, err := range Read(r) {
		if err != nil {
			return lines, err
		}
		line := e.Loc
		if e.Index {
			line = "index " + line
		}
		if !e.LastMod.IsZero() {
			line += " " + e.LastMod.Format(time.RFC3339Nano)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

const (
	sample = `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
  xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url><loc> http://a.example/1?a=1&amp;b=2 </loc>
    <lastmod>2026-11-21</lastmod><changefreq>daily</changefreq>
    <image:image><image:loc>http://a.example/picture.png</image:loc></image:image></url>
  <url><loc><![CDATA[http://a.example/2]]></loc></url>
</urlset>`

	index = `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">` +
		`<sitemap><loc>http://a.example/s1.xml</loc>` +
		`<lastmod>2026-11-21T10:00:00+01:00</lastmod></sitemap>` +
		`<sitemap><loc>http://a.example/s2.xml.gz</loc></sitemap></sitemapindex>`

	rss = `<?xml version="1.0"?>
<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel>
<title>News</title><link>http://a.example/</link>
<atom:link href="http://a.example/feed" rel="self"/>
<image><url>http://a.example/logo.png</url><link>http://a.example/</link></image>
<item>
  <title>One</title><link>http://a.example/1?a=1&amp;b=2</link>
  <pubDate>Sat, 21 Nov 2026 10:00:00 +0100</pubDate>
  <description><![CDATA[<a href="http://a.example/no">x</a>]]></description>
</item>
<item>
  <link><![CDATA[http://a.example/2]]></link><guid>http://a.example/guid</guid>
  <media:content url="http://a.example/no"><link>http://a.example/no</link></media:content>
</item>
</channel></rss>`

	atom = `<feed xmlns="http://www.w3.org/2005/Atom">
<link href="http://a.example/feed" rel="self"/><link href="http://a.example/"/>
<updated>2020-01-01T00:00:00Z</updated>
<entry>
  <link rel="edit" href="http://a.example/no"/>
  <link rel="alternate" href="http://a.example/1?a=1&amp;b=2"/>
  <published>2026-11-01T00:00:00Z</published>
  <updated>2026-11-21T10:00:00.5Z</updated>
  <published>2026-11-02T00:00:00Z</published>
</entry>
<entry>
  <link href='http://a.example/2' />
  <source><link href="http://a.example/no"/><updated>2020-01-01T00:00:00Z</updated></source>
</entry></feed>`
)

func url(loc string) string { return "<urlset><url><loc>" + loc + "</loc></url></urlset>" }

// readRows maps the names of tests to a body and the expected entries, in the
// form of collect.
type readRows map[string]struct {
	body string
	want []string
}

// checkRead checks each row with readers that return the body in one piece,
// byte by byte, and together with io.EOF.
func checkRead(t *testing.T, rows readRows) {
	t.Helper()
	for name, tt := range rows {
		t.Run(name, func(t *testing.T) {
			for kind, r := range map[string]io.Reader{
				"in one piece":         strings.NewReader(tt.body),
				"byte by byte":         iotest.OneByteReader(strings.NewReader(tt.body)),
				"together with io.EOF": iotest.DataErrReader(strings.NewReader(tt.body)),
			} {
				got, err := collect(r)
				if err != nil || !slices.Equal(got, tt.want) {
					t.Errorf("%s: Read returns %q, %v, want %q", kind, got, err, tt.want)
				}
			}
		})
	}
}

// one returns a slice with one entry.
func one(entry string) []string { return []string{entry} }

// sampleEntries are the entries of sample.
var sampleEntries = []string{
	"http://a.example/1?a=1&b=2 2026-11-21T00:00:00Z",
	"http://a.example/2",
}

// TestRead_Formats checks the kinds of files: sitemaps, indexes, feeds and
// lines.
func TestRead_Formats(t *testing.T) {
	checkRead(t, readRows{
		"a sitemap": {sample, sampleEntries},
		"an index": {
			body: index,
			want: []string{
				"index http://a.example/s1.xml 2026-11-21T09:00:00Z",
				"index http://a.example/s2.xml.gz",
			},
		},
		"RSS": {
			body: rss,
			want: []string{"http://a.example/1?a=1&b=2 2026-11-21T09:00:00Z", "http://a.example/2"},
		},
		"RSS 1.0": {
			body: `<rdf:RDF xmlns="http://purl.org/rss/1.0/">` +
				`<channel><link>http://a.example/</link></channel>` +
				`<item rdf:about="x"><link>http://a.example/1</link><dc:date>2026-11-21</dc:date></item>` +
				`</rdf:RDF>`,
			want: one("http://a.example/1 2026-11-21T00:00:00Z"),
		},
		"Atom": {
			body: atom,
			want: []string{"http://a.example/1?a=1&b=2 2026-11-21T10:00:00.5Z", "http://a.example/2"},
		},
		"lines": {
			body: "\ufeffhttp://a.example/1\r\n\r\n HTTPS://a.example/2",
			want: []string{"http://a.example/1", "HTTPS://a.example/2"},
		},
		"lines that are not URLs": {"# pages\n" +
			"http://a.example/1\n" +
			"/2\n" +
			"ftp://a.example/3\n" +
			"http://\n" +
			"Not found\n", one("http://a.example/1")},
		"an empty file":           {"", nil},
		"white space":             {" \r\n\t", nil},
		"only a byte order mark":  {"\ufeff", nil},
		"a sitemap without pages": {"<urlset></urlset>", nil},
		"an empty element":        {"<urlset/>", nil},
		"elements without a URL": {"<urlset><url><loc/></url><url><loc> </loc></url><url/></urlset>",
			nil},
	})
}

func TestRead_Compression(t *testing.T) {
	checkRead(t, readRows{
		"a compressed sitemap":       {packed(sample), sampleEntries},
		"a sitemap compressed twice": {packed(packed(sample)), sampleEntries},
		"two gzip members":           {packed(sample[:150]) + packed(sample[150:]), sampleEntries},
		"a newline after gzip":       {packed(sample) + "\n", sampleEntries},
		"zeros after gzip":           {packed(sample) + strings.Repeat("\x00", 512), sampleEntries},
		"lines in gzip":              {packed("http://a.example/1\n"), one("http://a.example/1")},
		"RSS in gzip": {
			body: packed(rss),
			want: []string{"http://a.example/1?a=1&b=2 2026-11-21T09:00:00Z", "http://a.example/2"},
		},
		"an empty compressed file": {packed(""), nil},
	})
}

// TestRead_Charsets checks that each byte that is invalid in the charset
// becomes U+FFFD.
func TestRead_Charsets(t *testing.T) {
	checkRead(t, readRows{
		"an invalid byte in a URL": {
			body: url("http://a.example/\xe4") + url("http://a.example/2"),
			want: []string{"http://a.example/\ufffd", "http://a.example/2"},
		},
		"an invalid byte outside of a URL": {
			body: "<urlset><url><title>\xe4</title><loc>http://a.example/1</loc></url></urlset>",
			want: one("http://a.example/1"),
		},
		"ISO-8859-1": {
			body: `<?xml version="1.0" encoding="ISO-8859-1"?>` + url("http://a.example/\xe4&#252;"),
			want: one("http://a.example/äü"),
		},
		"Windows-1252": {
			body: `<?xml version='1.0' encoding='windows-1252'?>` + url("http://a.example/\x80"),
			want: one("http://a.example/€"),
		},
		"an unknown charset": {
			body: `<?xml version="1.0" encoding="EUC-KR"?>` +
				url("http://a.example/\xb0\xa1") + url("http://a.example/2"),
			want: []string{"http://a.example/\ufffd", "http://a.example/2"},
		},
		"a charset that does not exist": {
			body: `<?xml version="1.0" encoding="x"?>` + url("http://a.example/ä"),
			want: one("http://a.example/ä"),
		},
		"UTF-8 with a byte order mark": {"\ufeff\n" + sample, sampleEntries},
		"UTF-16, big endian":           {inUTF16(binary.BigEndian, sample), sampleEntries},
		"UTF-16, little endian": {
			body: inUTF16(binary.LittleEndian, strings.Replace(sample, "UTF-8", "UTF-16", 1)),
			want: sampleEntries,
		},
		"lines in UTF-16": {
			body: inUTF16(binary.LittleEndian, "http://a.example/1\r\n"),
			want: one("http://a.example/1"),
		},
		"lines with an invalid byte": {
			body: "http://a.example/\xff\nhttp://a.example/2\n",
			want: []string{"http://a.example/\ufffd", "http://a.example/2"},
		},
		"ISO-8859-1 in CDATA": {
			body: `<?xml version="1.0" encoding="latin1"?>` + url("<![CDATA[http://a.example/\xe4]]>"),
			want: one("http://a.example/ä"),
		},
		"an invalid byte in an entity": {
			body: url("http://a.example/&a\xffmp;"),
			want: one("http://a.example/&a\ufffdmp;"),
		},
	})
}

// TestRead_ControlCharacters checks that control characters are removed.
func TestRead_ControlCharacters(t *testing.T) {
	checkRead(t, readRows{
		"a NUL in a URL":        {url("http://a.example/\x001\x0b"), one("http://a.example/1")},
		"as an entity in a URL": {url("http://a.example/&#0;1&#x1f;"), one("http://a.example/1")},
		"control characters before a tag": {
			body: "\x00\x01" + "<urlset>\x02" + url("http://a.example/1"),
			want: one("http://a.example/1"),
		},
		"a form feed": {
			body: "<urlset>\f<url>\f<loc>\fhttp://a.example/1\f</loc></url></urlset>",
			want: one("http://a.example/1"),
		},
		"a newline in a URL": {url("http://a.example/\n1"), one("http://a.example/1")},
		"a control character in CDATA": {
			body: url("<![CDATA[http://a.example/\x081]]>"),
			want: one("http://a.example/1"),
		},
		"a NUL in a comment": {url("http://a.example/<!-- \x00 -->1"), one("http://a.example/1")},
		"DEL":                {url("http://a.example/\x7f1"), one("http://a.example/1")},
		"a NUL in a line":    {"http://a.example/\x001\n", one("http://a.example/1")},
		"an entity of XML 1.1": {
			body: `<?xml version="1.1"?>` + url("http://a.example/1&#x85;"),
			want: one("http://a.example/1"),
		},
	})
}

// TestRead_UnescapedCharacters checks "&" and "<" that should have been
// escaped.
func TestRead_UnescapedCharacters(t *testing.T) {
	checkRead(t, readRows{
		"an ampersand": {url("http://a.example/?a&b"), one("http://a.example/?a&b")},
		"several ampersands": {
			body: url("http://a.example/?a=1&b=2&amp;c=3"),
			want: one("http://a.example/?a=1&b=2&c=3"),
		},
		"like an entity of HTML": {
			body: url("http://a.example/?a=1&copy=2&nbsp;"),
			want: one("http://a.example/?a=1&copy=2&nbsp;"),
		},
		"an ampersand at the end": {url("http://a.example/?a&"), one("http://a.example/?a&")},
		"an entity without end": {
			body: url("http://a.example/?a&amp"),
			want: one("http://a.example/?a&amp"),
		},
		"numeric entities, some of which are invalid": {
			body: url("http://a.example/&#65;&#x42;&#X43;&#;&#x;&#1114112;&#-1;"),
			want: one("http://a.example/ABC&#;&#x;&#1114112;&#-1;"),
		},
		"the five entities": {
			body: url("http://a.example/&amp;&lt;&gt;&quot;&apos;"),
			want: one(`http://a.example/&<>"'`),
		},
		"an ampersand escaped twice": {
			body: url("http://a.example/?a&amp;amp;b"),
			want: one("http://a.example/?a&amp;b"),
		},
		"a less-than sign":                 {url("http://a.example/?a<5"), one("http://a.example/?a<5")},
		"a less-than sign before a letter": {url("http://a.example/?a<b"), one("http://a.example/?a<b")},
		"a less-than and a greater-than sign": {
			body: url("http://a.example/?a=<b>"),
			want: one("http://a.example/?a=<b>"),
		},
		"a less-than sign at the end": {url("http://a.example/<"), one("http://a.example/<")},
		"two less-than signs":         {url("http://a.example/<<b"), one("http://a.example/<<b")},
		"a less-than sign and a quote": {
			body: url(`http://a.example/?a<b="c`),
			want: one(`http://a.example/?a<b="c`),
		},
		"a less-than sign outside of a URL": {
			body: "<urlset> < <url> a<b <loc>http://a.example/1</loc></url></urlset>",
			want: one("http://a.example/1"),
		},
		"a declaration in a URL": {url("http://a.example/<!x>"), one("http://a.example/<!x>")},
		"a greater-than sign":    {url("http://a.example/?a>b"), one("http://a.example/?a>b")},
		"an ampersand in RSS": {
			body: "<rss><item><link>http://a.example/?a&b</link></item></rss>",
			want: one("http://a.example/?a&b"),
		},
		"an ampersand in Atom": {
			body: `<feed><entry><link href="http://a.example/?a&b"/></entry></feed>`,
			want: one("http://a.example/?a&b"),
		},
		"an attribute without a closing quote": {
			body: `<urlset><url id="1><loc>http://a.example/1</loc></url></urlset>`,
			want: one("http://a.example/1"),
		},
		"a greater-than sign in an attribute": {
			body: `<urlset><url id="a>b"><loc>http://a.example/1</loc></url></urlset>`,
			want: one("http://a.example/1"),
		},
		"an entity in a date": {
			body: "<urlset><url><loc>http://a.example/1</loc><lastmod>&#50;026-11-21</lastmod></url></urlset>",
			want: one("http://a.example/1 2026-11-21T00:00:00Z"),
		},
	})
}

func TestRead_CDATAAndComments(t *testing.T) {
	checkRead(t, readRows{
		"CDATA": {
			body: url("<![CDATA[http://a.example/?a&b]]>"),
			want: one("http://a.example/?a&b"),
		},
		"CDATA with an entity": {
			body: url("<![CDATA[http://a.example/?a&amp;b]]>"),
			want: one("http://a.example/?a&amp;b"),
		},
		"CDATA and text": {
			body: url("http://a.example/<![CDATA[?a]]>&amp;b<![CDATA[&c]]>"),
			want: one("http://a.example/?a&b&c"),
		},
		"CDATA with brackets": {
			body: url("<![CDATA[http://a.example/]]]>"),
			want: one("http://a.example/]"),
		},
		"CDATA with a tag": {
			body: url("<![CDATA[http://a.example/</loc>]]>"),
			want: one("http://a.example/</loc>"),
		},
		"white space around CDATA": {
			body: url("\n <![CDATA[\n http://a.example/1 \n]]>\n "),
			want: one("http://a.example/1"),
		},
		"a comment before a URL": {
			body: url("<!-- the page -->http://a.example/1"),
			want: one("http://a.example/1"),
		},
		"a comment in a URL": {
			body: url("http://a.<!-- - -- > -->example/1"),
			want: one("http://a.example/1"),
		},
		"a comment with a URL": {
			body: "<urlset><!-- <url><loc>http://a.example/old</loc></url> -->" + url("http://a.example/1"),
			want: one("http://a.example/1"),
		},
		"a comment without end": {
			body: url("http://a.example/1") + "<!-- " + url("http://a.example/2"),
			want: one("http://a.example/1"),
		},
		"a processing instruction in a URL": {
			body: url("http://a.example/<?php echo 1 ?>1"),
			want: one("http://a.example/1"),
		},
		"a document type": {
			body: `<!DOCTYPE urlset [<!ENTITY a "b"> <!ELEMENT url ANY>]>` + url("http://a.example/1"),
			want: one("http://a.example/1"),
		},
		"CDATA in the date": {
			body: "<urlset><url><lastmod><![CDATA[2026-11-21]]></lastmod><loc>http://a.example/1</loc></url></urlset>",
			want: one("http://a.example/1 2026-11-21T00:00:00Z"),
		},
		"CDATA outside of elements": {
			body: "<urlset><![CDATA[<url><loc>http://a.example/no</loc></url>]]>" + url("http://a.example/1"),
			want: one("http://a.example/1"),
		},
	})
}

// TestRead_MalformedMarkup checks markup that is not well-formed XML.
func TestRead_MalformedMarkup(t *testing.T) {
	checkRead(t, readRows{
		"version 1.1": {
			body: `<?xml version="1.1" encoding="UTF-8"?>` + url("http://a.example/1"),
			want: one("http://a.example/1"),
		},
		"version 2.0": {
			body: `<?xml version="2.0"?>` + url("http://a.example/1"),
			want: one("http://a.example/1"),
		},
		"a truncated file":          {sample[:strings.Index(sample, "<![")], sampleEntries[:1]},
		"a file truncated in a URL": {sample[:strings.Index(sample, "/2]")], sampleEntries[:1]},
		"a file truncated in a tag": {
			body: "<urlset><url><loc>http://a.example/1</loc></ur",
			want: one("http://a.example/1"),
		},
		"no end tag of loc": {
			body: "<urlset><url><loc>http://a.example/1</url><url><loc>http://a.example/2</loc></url></urlset>",
			want: []string{"http://a.example/1", "http://a.example/2"},
		},
		"no end tag of url": {
			body: "<urlset><url><loc>http://a.example/1</loc><url><loc>http://a.example/2</loc></urlset>",
			want: []string{"http://a.example/1", "http://a.example/2"},
		},
		"no end tags": {
			body: "<urlset><url><loc>http://a.example/1<lastmod>2026-11-21<url><loc>http://a.example/2<priority>1",
			want: []string{"http://a.example/1 2026-11-21T00:00:00Z", "http://a.example/2"},
		},
		"a misspelled end tag": {
			body: "<urlset><url><loc>http://a.example/1</lok></loc></url></urlset>",
			want: one("http://a.example/1</lok>"),
		},
		"too many end tags": {
			body: "</url></urlset>" + url("http://a.example/1"),
			want: one("http://a.example/1"),
		},
		"names in capitals": {
			body: "<URLSET><Url><LOC>http://a.example/1</LOC><LastMod>2026-11-21</LastMod></Url></URLSET>",
			want: one("http://a.example/1 2026-11-21T00:00:00Z"),
		},
		"no root element": {
			body: "<url><loc>http://a.example/1</loc></url>",
			want: one("http://a.example/1"),
		},
		"a namespace prefix": {
			body: `<s:urlset xmlns:s="x"><s:url><s:loc>http://a.example/1</s:loc><s:lastmod>2026-11-21</s:lastmod></s:url></s:urlset>`,
			want: one("http://a.example/1 2026-11-21T00:00:00Z"),
		},
		"a warning of PHP before a sitemap": {
			body: "Warning: Undefined variable $x in /srv/sitemap.php on line 3\n" + sample,
			want: sampleEntries,
		},
		"text between elements": {
			body: "<urlset>oops" + url("http://a.example/1"),
			want: one("http://a.example/1"),
		},
		"attributes": {
			body: `<urlset a=b c='d' ><url id = "1" ><loc lang=en>http://a.example/1</loc ></url ></urlset >`,
			want: one("http://a.example/1"),
		},
		"a loc in another element": {
			body: "<urlset><url><video><loc>http://a.example/no</loc></video><loc>http://a.example/1</loc></url></urlset>",
			want: one("http://a.example/1"),
		},
		"an image without a page": {
			body: "<urlset><url><image:loc>http://a.example/no</image:loc></url></urlset>",
		},
		"sampleEntries locs": {
			body: "<urlset><url><loc>http://a.example/1</loc><loc>http://a.example/2</loc></url></urlset>",
			want: one("http://a.example/1"),
		},
		"a long line of white space": {strings.Repeat(" ", 3*maxLine) + sample, sampleEntries},
		"a loc that is too long": {
			body: url(strings.Repeat("x", maxLine+1)) + url("http://a.example/2"),
			want: one("http://a.example/2"),
		},
		"a line that is too long": {
			body: "http://a.example/1\n" + strings.Repeat("x", 3*maxLine) + "\nhttp://a.example/2\n",
			want: []string{"http://a.example/1", "http://a.example/2"},
		},
	})
}

func TestRead_Dates(t *testing.T) {
	checkRead(t, readRows{
		"a year":   {dated("2026"), one("x 2026-01-01T00:00:00Z")},
		"a month":  {dated("2026-11"), one("x 2026-11-01T00:00:00Z")},
		"a day":    {dated("2026-11-21"), one("x 2026-11-21T00:00:00Z")},
		"a minute": {dated("2026-11-21T10:00+01:00"), one("x 2026-11-21T09:00:00Z")},
		"a second": {dated("2026-11-21T10:00:00Z"), one("x 2026-11-21T10:00:00Z")},
		"a fraction": {
			body: dated("2026-11-21T10:00:00.123-05:00"),
			want: one("x 2026-11-21T15:00:00.123Z"),
		},
		"a space":                   {dated("2026-11-21 10:00:00"), one("x 2026-11-21T10:00:00Z")},
		"an offset without a colon": {dated("2026-11-21T10:00:00+0100"), one("x 2026-11-21T09:00:00Z")},
		"RFC 1123":                  {dated("Sat, 21 Nov 2026 10:00:00 GMT"), one("x 2026-11-21T10:00:00Z")},
		"a text that is not a date": {dated("yesterday"), one("x")},
		"an empty date":             {dated(""), one("x")},
		"a day that does not exist": {dated("2026-02-30"), one("x")},
	})
}

func dated(lastmod string) string {
	return "<urlset><url><loc>x</loc><lastmod>" + lastmod + "</lastmod></url></urlset>"
}

func inUTF16(order binary.AppendByteOrder, text string) string {
	var b []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		b = order.AppendUint16(b, unit)
	}
	return string(b)
}

// TestRead_Errors checks the number of entries before an error, and the error.
func TestRead_Errors(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector finds nothing in one goroutine, and makes this ten times slower")
	}
	broken := errors.New("broken")
	const page = "<url><loc>x</loc></url>"
	for name, tt := range map[string]struct {
		r    io.Reader
		want int
		err  error
	}{
		"a reader that fails": {
			r:    io.MultiReader(strings.NewReader(url("x")), iotest.ErrReader(broken)),
			want: 1,
			err:  broken,
		},
		"a reader that fails at once": {iotest.ErrReader(broken), 0, broken},
		"a reader that fails once":    {&failsOnce{err: broken}, 0, broken},
		"lines of a reader that fails": {
			r: io.MultiReader(
				strings.NewReader("http://a.example/1\nhttp://a.exam"),
				iotest.ErrReader(broken),
			),
			want: 1,
			err:  broken,
		},
		"a truncated body": {
			r: io.MultiReader(
				strings.NewReader(url("x")),
				iotest.ErrReader(io.ErrUnexpectedEOF),
			),
			want: 1,
			err:  io.ErrUnexpectedEOF,
		},
		"truncated gzip data": {strings.NewReader(packed(sample)[:40]), 0, io.ErrUnexpectedEOF},
		"a wrong checksum": {
			r:    strings.NewReader(packed(sample)[:len(packed(sample))-8] + "xxxxxxxx"),
			want: 2,
			err:  gzip.ErrChecksum,
		},
		"an HTML page": {
			r:   strings.NewReader("<!doctype html><title>No</title><link rel=icon href=x><p>Not found<br>"),
			err: ErrNotSitemap,
		},
		"XML that is not a sitemap": {
			r:   strings.NewReader("<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"),
			err: ErrNotSitemap,
		},
		"too many URLs": {
			r:    strings.NewReader("<urlset>" + strings.Repeat(page, MaxURLs+1)),
			want: MaxURLs,
			err:  ErrTooManyURLs,
		},
		"the maximum number of URLs": {
			r:    strings.NewReader("<urlset>" + strings.Repeat(page, MaxURLs)),
			want: MaxURLs,
		},
		"too many lines": {
			r:    strings.NewReader(strings.Repeat("http://a\n", MaxURLs+1)),
			want: MaxURLs,
			err:  ErrTooManyURLs,
		},
		"too many items": {
			r:    strings.NewReader("<rss>" + strings.Repeat("<item><link>x</link></item>", MaxURLs+1)),
			want: MaxURLs,
			err:  ErrTooManyURLs,
		},
		"a file that is too large": {
			r:    io.MultiReader(strings.NewReader(url("x")), endless{}),
			want: 1,
			err:  ErrTooLarge,
		},
		"the maximum size": {
			r:    strings.NewReader(url("x") + strings.Repeat(" ", MaxBytes-len(url("x")))),
			want: 1,
		},
		"a compressed file that is too large": {
			r:    strings.NewReader(packed(url("x") + strings.Repeat(" ", MaxBytes))),
			want: 1,
			err:  ErrTooLarge,
		},
		"too many gzip members": {
			r:    io.MultiReader(strings.NewReader(packed(url("x"))), &repeated{text: packed("")}),
			want: 1,
			err:  ErrTooLarge,
		},
	} {
		got, err := collect(tt.r)
		if len(got) != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: Read returns %d entries and the error %v, want %d and %v",
				name, len(got), err, tt.want, tt.err)
		}
	}
}

// A failsOnce returns an error, and then io.EOF.
type failsOnce struct{ err error }

func (f *failsOnce) Read([]byte) (int, error) {
	err := f.err
	f.err = io.EOF
	return 0, err
}

// An endless is a reader of blanks without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// A repeated is a reader that repeats a text without an end.
type repeated struct {
	text string
	pos  int // the position of the next byte
}

func (r *repeated) Read(p []byte) (n int, err error) {
	n = copy(p, r.text[r.pos:])
	r.pos = (r.pos + n) % len(r.text)
	return n, nil
}

// TestRead_Break checks that Read stops when the caller leaves the loop.
func TestRead_Break(t *testing.T) {
	n := 0
	for range Read(strings.NewReader(sample)) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("Read yields %d entries before a break, want 1", n)
	}
}

// TestRead_Memory checks that a compressed sitemap, which may be a thousand
// times as large as the response, is not decompressed into memory.
func TestRead_Memory(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector takes memory of its own")
	}
	const page = "<url><loc>http://a.example/</loc></url>"
	for name, filler := range map[string]string{
		"comments":        "<!-- " + strings.Repeat("x", 1000) + " -->\n",
		"lines":           strings.Repeat(" ", 1000) + "\n",
		"white space":     " ",
		"elements":        "<urlset>",
		"open urls":       "<url>",
		"open locs":       "<loc>",
		"less-than signs": "<",
		"tags":            "<a",
		"quotes":          "<a b='",
		"CDATA":           "<![CDATA[x]]>",
		"entities":        "&amp;",
		"declarations":    "<!a [",
		"instructions":    "<?",
	} {
		t.Run(name, func(t *testing.T) {
			long := strings.Repeat(filler, 3<<20/len(filler))
			body := packed("<urlset>" + page + "<url><loc>" + long + "</loc></url>" + page)
			runtime.GC()
			r := &heapWatch{r: strings.NewReader(body)}
			before := r.live()
			n := 0
			for range Read(r) {
				n++
			}
			if n == 0 {
				t.Error("Read yields no entries, want at least one")
			}
			if used := int64(r.max) - int64(before); used > 1<<20 {
				t.Errorf("reading %d bytes takes %d bytes of memory, want at most 1 MiB", len(body), used)
			}
		})
	}
}

// A heapWatch is a reader that measures the memory in use at each Read.
type heapWatch struct {
	r   io.Reader
	max uint64 // the maximum of the measurements, in bytes
}

func (h *heapWatch) live() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func (h *heapWatch) Read(p []byte) (int, error) {
	h.max = max(h.max, h.live())
	return h.r.Read(p[:min(len(p), 2048)])
}

func BenchmarkRead(b *testing.B) {
	const page = "<url><loc>http://a.example/page?a=1&amp;b=2</loc>" +
		"<lastmod>2026-11-21T10:00:00Z</lastmod><changefreq>daily</changefreq></url>\n"
	body := "<urlset>" + strings.Repeat(page, 10_000)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		for _, err := range Read(strings.NewReader(body)) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		sample,
		index,
		rss,
		atom,
		packed(index),
		inUTF16(binary.LittleEndian, index),
		"http://a.example/\n",
		"<url><loc>x",
		"<urlset><url><loc>a<b='>c</loc>",
		"<url><loc><![CDATA[x]]]]>&#x41;</url>",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		n := 0
		for e, err := range Read(bytes.NewReader(body)) {
			if err != nil {
				if e != (Entry{}) {
					t.Fatalf("Read yields the entry %+v with the error %v, want a zero entry", e, err)
				}
				continue
			}
			n++
			isTrimmed := e.Loc != "" && strings.TrimSpace(e.Loc) == e.Loc
			if !isTrimmed || !utf8.ValidString(e.Loc) || strings.ContainsFunc(e.Loc, isControl) {
				t.Fatalf("Read yields the URL %q, want UTF-8 without control characters and surrounding blanks", e.Loc)
			}
			if n > MaxURLs {
				t.Fatalf("Read yields %d entries, want at most %d", n, MaxURLs)
			}
		}
		whole, wholeErr := collect(bytes.NewReader(body))
		slow, slowErr := collect(iotest.OneByteReader(bytes.NewReader(body)))
		if !slices.Equal(whole, slow) || fmt.Sprint(wholeErr) != fmt.Sprint(slowErr) {
			t.Fatalf("Read returns %q, %v, and byte by byte %q, %v, want the same",
				whole, wholeErr, slow, slowErr)
		}
	})
}

func isControl(r rune) bool { return r < ' ' }
