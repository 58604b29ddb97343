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
)

func packed(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(s))
	w.Close()
	return b.String()
}

// collect returns the entries as text, one in a line, and the error.
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
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url><loc> http://a.example/1?a=1&amp;b=2 </loc><lastmod>2026-11-21</lastmod><changefreq>daily</changefreq>
    <image:image><image:loc>http://a.example/picture.png</image:loc></image:image></url>
  <url><loc><![CDATA[http://a.example/2]]></loc></url>
</urlset>`

	index = `<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><sitemap><loc>http://a.example/s1.xml</loc><lastmod>2026-11-21T10:00:00+01:00</lastmod></sitemap>` +
		`<sitemap><loc>http://a.example/s2.xml.gz</loc></sitemap></sitemapindex>`

	rss = `<?xml version="1.0"?><rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>News</title><link>http://a.example/</link>
<atom:link href="http://a.example/feed" rel="self"/><image><url>http://a.example/logo.png</url><link>http://a.example/</link></image>
<item><title>One</title><link>http://a.example/1?a=1&amp;b=2</link><pubDate>Sat, 21 Nov 2026 10:00:00 +0100</pubDate><description><![CDATA[<a href="http://a.example/no">x</a>]]></description></item>
<item><link><![CDATA[http://a.example/2]]></link><guid>http://a.example/guid</guid><media:content url="http://a.example/no"><link>http://a.example/no</link></media:content></item></channel></rss>`

	atom = `<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://a.example/feed" rel="self"/><link href="http://a.example/"/><updated>2020-01-01T00:00:00Z</updated>
<entry><link rel="edit" href="http://a.example/no"/><link rel="alternate" href="http://a.example/1?a=1&amp;b=2"/><published>2026-11-01T00:00:00Z</published><updated>2026-11-21T10:00:00.5Z</updated><published>2026-11-02T00:00:00Z</published></entry>
<entry><link href='http://a.example/2' /><source><link href="http://a.example/no"/><updated>2020-01-01T00:00:00Z</updated></source></entry></feed>`
)

func url(loc string) string { return "<urlset><url><loc>" + loc + "</loc></url></urlset>" }

func TestRead(t *testing.T) {
	two := []string{"http://a.example/1?a=1&b=2 2026-11-21T00:00:00Z", "http://a.example/2"}
	one := func(loc string) []string { return []string{loc} }
	type rows map[string]struct {
		body string
		want []string
	}
	for _, form := range []struct {
		name string
		rows rows
	}{
		{"the kinds of files", rows{
			"pages":    {sample, two},
			"an index": {index, []string{"index http://a.example/s1.xml 2026-11-21T09:00:00Z", "index http://a.example/s2.xml.gz"}},
			"RSS":      {rss, []string{"http://a.example/1?a=1&b=2 2026-11-21T09:00:00Z", "http://a.example/2"}},
			"RSS 1.0":  {`<rdf:RDF xmlns="http://purl.org/rss/1.0/"><channel><link>http://a.example/</link></channel><item rdf:about="x"><link>http://a.example/1</link><dc:date>2026-11-21</dc:date></item></rdf:RDF>`, one("http://a.example/1 2026-11-21T00:00:00Z")},
			"Atom":     {atom, []string{"http://a.example/1?a=1&b=2 2026-11-21T10:00:00.5Z", "http://a.example/2"}},
			"lines": {"\ufeffhttp://a.example/1\r\n" +
				"\r\n" +
				" HTTPS://a.example/2", []string{"http://a.example/1", "HTTPS://a.example/2"}},
			"other lines": {"# pages\n" +
				"http://a.example/1\n" +
				"/2\n" +
				"ftp://a.example/3\n" +
				"http://\n" +
				"Not found\n", one("http://a.example/1")},
			"nothing":     {"", nil},
			"white space": {" \r\n\t", nil},
			"a mark":      {"\ufeff", nil},
			"no page":     {"<urlset></urlset>", nil},
			"an empty":    {"<urlset/>", nil},
			"an empty loc": {"<urlset><url><loc/></url><url><loc> </loc></url><url/></urlset>",
				nil},
		}},
		{"compression", rows{
			"gzip":                 {packed(sample), two},
			"gzip of gzip":         {packed(packed(sample)), two},
			"two members":          {packed(sample[:150]) + packed(sample[150:]), two},
			"a newline after gzip": {packed(sample) + "\n", two},
			"zeros after gzip":     {packed(sample) + strings.Repeat("\x00", 512), two},
			"lines in gzip":        {packed("http://a.example/1\n"), one("http://a.example/1")},
			"RSS in gzip":          {packed(rss), []string{"http://a.example/1?a=1&b=2 2026-11-21T09:00:00Z", "http://a.example/2"}},
			"nothing in gzip":      {packed(""), nil},
		}},
		{"charsets", rows{
			"a byte of no charset":      {url("http://a.example/\xe4") + url("http://a.example/2"), []string{"http://a.example/\ufffd", "http://a.example/2"}},
			"a byte outside of the URL": {"<urlset><url><title>\xe4</title><loc>http://a.example/1</loc></url></urlset>", one("http://a.example/1")},
			"ISO-8859-1":                {`<?xml version="1.0" encoding="ISO-8859-1"?>` + url("http://a.example/\xe4&#252;"), one("http://a.example/äü")},
			"Windows-1252":              {`<?xml version='1.0' encoding='windows-1252'?>` + url("http://a.example/\x80"), one("http://a.example/€")},
			"an unknown charset":        {`<?xml version="1.0" encoding="EUC-KR"?>` + url("http://a.example/\xb0\xa1") + url("http://a.example/2"), []string{"http://a.example/\ufffd", "http://a.example/2"}},
			"no such charset":           {`<?xml version="1.0" encoding="x"?>` + url("http://a.example/ä"), one("http://a.example/ä")},
			"UTF-8 with a mark":         {"\ufeff\n" + sample, two},
			"UTF-16, big endian":        {inUTF16(binary.BigEndian, sample), two},
			"UTF-16, little endian": {inUTF16(
				binary.LittleEndian,
				strings.Replace(sample, "UTF-8", "UTF-16", 1),
			), two},
			"lines in UTF-16": {inUTF16(
				binary.LittleEndian,
				"http://a.example/1\r\n",
			), one("http://a.example/1")},
			"lines with a broken byte":   {"http://a.example/\xff\nhttp://a.example/2\n", []string{"http://a.example/\ufffd", "http://a.example/2"}},
			"ISO-8859-1 in CDATA":        {`<?xml version="1.0" encoding="latin1"?>` + url("<![CDATA[http://a.example/\xe4]]>"), one("http://a.example/ä")},
			"a broken byte in an entity": {url("http://a.example/&a\xffmp;"), one("http://a.example/&a\ufffdmp;")},
		}},
		{"control characters", rows{
			"in a URL":            {url("http://a.example/\x001\x0b"), one("http://a.example/1")},
			"as an entity":        {url("http://a.example/&#0;1&#x1f;"), one("http://a.example/1")},
			"before a tag":        {"\x00\x01" + "<urlset>\x02" + url("http://a.example/1"), one("http://a.example/1")},
			"a form feed":         {"<urlset>\f<url>\f<loc>\fhttp://a.example/1\f</loc></url></urlset>", one("http://a.example/1")},
			"a newline in a URL":  {url("http://a.example/\n1"), one("http://a.example/1")},
			"in CDATA":            {url("<![CDATA[http://a.example/\x081]]>"), one("http://a.example/1")},
			"in a comment":        {url("http://a.example/<!-- \x00 -->1"), one("http://a.example/1")},
			"DEL":                 {url("http://a.example/\x7f1"), one("http://a.example/1")},
			"in lines":            {"http://a.example/\x001\n", one("http://a.example/1")},
			"of XML 1.1, escaped": {`<?xml version="1.1"?>` + url("http://a.example/1&#x85;"), one("http://a.example/1")},
		}},
		{"& and < of their own", rows{
			"an ampersand":             {url("http://a.example/?a&b"), one("http://a.example/?a&b")},
			"several":                  {url("http://a.example/?a=1&b=2&amp;c=3"), one("http://a.example/?a=1&b=2&c=3")},
			"like an entity of HTML":   {url("http://a.example/?a=1&copy=2&nbsp;"), one("http://a.example/?a=1&copy=2&nbsp;")},
			"at the end":               {url("http://a.example/?a&"), one("http://a.example/?a&")},
			"an entity without end":    {url("http://a.example/?a&amp"), one("http://a.example/?a&amp")},
			"numbers":                  {url("http://a.example/&#65;&#x42;&#X43;&#;&#x;&#1114112;&#-1;"), one("http://a.example/ABC&#;&#x;&#1114112;&#-1;")},
			"the five entities":        {url("http://a.example/&amp;&lt;&gt;&quot;&apos;"), one(`http://a.example/&<>"'`)},
			"escaped twice":            {url("http://a.example/?a&amp;amp;b"), one("http://a.example/?a&amp;b")},
			"a less":                   {url("http://a.example/?a<5"), one("http://a.example/?a<5")},
			"a less before a letter":   {url("http://a.example/?a<b"), one("http://a.example/?a<b")},
			"a less and a greater":     {url("http://a.example/?a=<b>"), one("http://a.example/?a=<b>")},
			"a less at the end":        {url("http://a.example/<"), one("http://a.example/<")},
			"two":                      {url("http://a.example/<<b"), one("http://a.example/<<b")},
			"a less and a quote":       {url(`http://a.example/?a<b="c`), one(`http://a.example/?a<b="c`)},
			"a less outside of a URL":  {"<urlset> < <url> a<b <loc>http://a.example/1</loc></url></urlset>", one("http://a.example/1")},
			"a declaration in a URL":   {url("http://a.example/<!x>"), one("http://a.example/<!x>")},
			"a greater":                {url("http://a.example/?a>b"), one("http://a.example/?a>b")},
			"an ampersand in RSS":      {"<rss><item><link>http://a.example/?a&b</link></item></rss>", one("http://a.example/?a&b")},
			"an ampersand in Atom":     {`<feed><entry><link href="http://a.example/?a&b"/></entry></feed>`, one("http://a.example/?a&b")},
			"a tag with a lost quote":  {`<urlset><url id="1><loc>http://a.example/1</loc></url></urlset>`, one("http://a.example/1")},
			"a greater in a tag":       {`<urlset><url id="a>b"><loc>http://a.example/1</loc></url></urlset>`, one("http://a.example/1")},
			"an entity in a date only": {"<urlset><url><loc>http://a.example/1</loc><lastmod>&#50;026-11-21</lastmod></url></urlset>", one("http://a.example/1 2026-11-21T00:00:00Z")},
		}},
		{"CDATA and comments", rows{
			"CDATA":                     {url("<![CDATA[http://a.example/?a&b]]>"), one("http://a.example/?a&b")},
			"CDATA with an entity":      {url("<![CDATA[http://a.example/?a&amp;b]]>"), one("http://a.example/?a&amp;b")},
			"CDATA and text":            {url("http://a.example/<![CDATA[?a]]>&amp;b<![CDATA[&c]]>"), one("http://a.example/?a&b&c")},
			"CDATA with brackets":       {url("<![CDATA[http://a.example/]]]>"), one("http://a.example/]")},
			"CDATA with a tag":          {url("<![CDATA[http://a.example/</loc>]]>"), one("http://a.example/</loc>")},
			"white space around CDATA":  {url("\n <![CDATA[\n http://a.example/1 \n]]>\n "), one("http://a.example/1")},
			"a comment before":          {url("<!-- the page -->http://a.example/1"), one("http://a.example/1")},
			"a comment within":          {url("http://a.<!-- - -- > -->example/1"), one("http://a.example/1")},
			"a comment with a URL":      {"<urlset><!-- <url><loc>http://a.example/old</loc></url> -->" + url("http://a.example/1"), one("http://a.example/1")},
			"a comment without end":     {url("http://a.example/1") + "<!-- " + url("http://a.example/2"), one("http://a.example/1")},
			"an instruction within":     {url("http://a.example/<?php echo 1 ?>1"), one("http://a.example/1")},
			"a document type":           {`<!DOCTYPE urlset [<!ENTITY a "b"> <!ELEMENT url ANY>]>` + url("http://a.example/1"), one("http://a.example/1")},
			"CDATA in the date":         {"<urlset><url><lastmod><![CDATA[2026-11-21]]></lastmod><loc>http://a.example/1</loc></url></urlset>", one("http://a.example/1 2026-11-21T00:00:00Z")},
			"CDATA outside of elements": {"<urlset><![CDATA[<url><loc>http://a.example/no</loc></url>]]>" + url("http://a.example/1"), one("http://a.example/1")},
		}},
		{"markup that is not well-formed", rows{
			"version 1.1":             {`<?xml version="1.1" encoding="UTF-8"?>` + url("http://a.example/1"), one("http://a.example/1")},
			"version 2.0":             {`<?xml version="2.0"?>` + url("http://a.example/1"), one("http://a.example/1")},
			"broken off":              {sample[:strings.Index(sample, "<![")], two[:1]},
			"broken off in a URL":     {sample[:strings.Index(sample, "/2]")], two[:1]},
			"broken off in a tag":     {"<urlset><url><loc>http://a.example/1</loc></ur", one("http://a.example/1")},
			"no end of loc":           {"<urlset><url><loc>http://a.example/1</url><url><loc>http://a.example/2</loc></url></urlset>", []string{"http://a.example/1", "http://a.example/2"}},
			"no end of url":           {"<urlset><url><loc>http://a.example/1</loc><url><loc>http://a.example/2</loc></urlset>", []string{"http://a.example/1", "http://a.example/2"}},
			"no ends":                 {"<urlset><url><loc>http://a.example/1<lastmod>2026-11-21<url><loc>http://a.example/2<priority>1", []string{"http://a.example/1 2026-11-21T00:00:00Z", "http://a.example/2"}},
			"a wrong end":             {"<urlset><url><loc>http://a.example/1</lok></loc></url></urlset>", one("http://a.example/1</lok>")},
			"ends too many":           {"</url></urlset>" + url("http://a.example/1"), one("http://a.example/1")},
			"capitals":                {"<URLSET><Url><LOC>http://a.example/1</LOC><LastMod>2026-11-21</LastMod></Url></URLSET>", one("http://a.example/1 2026-11-21T00:00:00Z")},
			"no root":                 {"<url><loc>http://a.example/1</loc></url>", one("http://a.example/1")},
			"a prefix":                {`<s:urlset xmlns:s="x"><s:url><s:loc>http://a.example/1</s:loc><s:lastmod>2026-11-21</s:lastmod></s:url></s:urlset>`, one("http://a.example/1 2026-11-21T00:00:00Z")},
			"a warning first":         {"Warning: Undefined variable $x in /srv/sitemap.php on line 3\n" + sample, two},
			"text between":            {"<urlset>oops" + url("http://a.example/1"), one("http://a.example/1")},
			"attributes":              {`<urlset a=b c='d' ><url id = "1" ><loc lang=en>http://a.example/1</loc ></url ></urlset >`, one("http://a.example/1")},
			"another page's loc":      {"<urlset><url><video><loc>http://a.example/no</loc></video><loc>http://a.example/1</loc></url></urlset>", one("http://a.example/1")},
			"an image alone":          {"<urlset><url><image:loc>http://a.example/no</image:loc></url></urlset>", nil},
			"two locs":                {"<urlset><url><loc>http://a.example/1</loc><loc>http://a.example/2</loc></url></urlset>", one("http://a.example/1")},
			"a long line of space":    {strings.Repeat(" ", 3*maxLine) + sample, two},
			"a loc that is too long":  {url(strings.Repeat("x", maxLine+1)) + url("http://a.example/2"), one("http://a.example/2")},
			"a line that is too long": {"http://a.example/1\n" + strings.Repeat("x", 3*maxLine) + "\nhttp://a.example/2\n", []string{"http://a.example/1", "http://a.example/2"}},
		}},
		{"dates", rows{
			"a year":        {dated("2026"), one("x 2026-01-01T00:00:00Z")},
			"a month":       {dated("2026-11"), one("x 2026-11-01T00:00:00Z")},
			"a day":         {dated("2026-11-21"), one("x 2026-11-21T00:00:00Z")},
			"a minute":      {dated("2026-11-21T10:00+01:00"), one("x 2026-11-21T09:00:00Z")},
			"a second":      {dated("2026-11-21T10:00:00Z"), one("x 2026-11-21T10:00:00Z")},
			"a fraction":    {dated("2026-11-21T10:00:00.123-05:00"), one("x 2026-11-21T15:00:00.123Z")},
			"a space":       {dated("2026-11-21 10:00:00"), one("x 2026-11-21T10:00:00Z")},
			"without colon": {dated("2026-11-21T10:00:00+0100"), one("x 2026-11-21T09:00:00Z")},
			"RFC 1123":      {dated("Sat, 21 Nov 2026 10:00:00 GMT"), one("x 2026-11-21T10:00:00Z")},
			"none":          {dated("yesterday"), one("x")},
			"empty":         {dated(""), one("x")},
			"no such day":   {dated("2026-02-30"), one("x")},
		}},
	} {
		t.Run(form.name, func(t *testing.T) {
			for name, tt := range form.rows {
				for i, r := range []io.Reader{strings.NewReader(tt.body), iotest.OneByteReader(strings.NewReader(tt.body)), iotest.DataErrReader(strings.NewReader(tt.body))} {
					if got, err := collect(r); err != nil || !slices.Equal(got, tt.want) {
						t.Errorf("%s, reader %d: %q, %v; want %q", name, i, got, err, tt.want)
					}
				}
			}
		})
	}
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

// The entries before an error are good.
func TestRead_Errors(t *testing.T) {
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
		"one that fails first": {iotest.ErrReader(broken), 0, broken},
		"one that fails once":  {&failsOnce{err: broken}, 0, broken},
		"lines that fail": {
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
		"gzip broken off": {strings.NewReader(packed(sample)[:40]), 0, io.ErrUnexpectedEOF},
		"a wrong checksum": {
			r:    strings.NewReader(packed(sample)[:len(packed(sample))-8] + "xxxxxxxx"),
			want: 2,
			err:  gzip.ErrChecksum,
		},
		"a page": {
			r:   strings.NewReader("<!doctype html><title>No</title><link rel=icon href=x><p>Not found<br>"),
			err: ErrNotSitemap,
		},
		"other XML": {
			r:   strings.NewReader("<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"),
			err: ErrNotSitemap,
		},
		"too many URLs": {
			r:    strings.NewReader("<urlset>" + strings.Repeat(page, MaxURLs+1)),
			want: MaxURLs,
			err:  ErrTooManyURLs,
		},
		"as many as may be": {
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
		"too large": {
			r:    io.MultiReader(strings.NewReader(url("x")), endless{}),
			want: 1,
			err:  ErrTooLarge,
		},
		"as large as may be": {
			r:    strings.NewReader(url("x") + strings.Repeat(" ", MaxBytes-len(url("x")))),
			want: 1,
		},
		"too large, packed": {
			r:    strings.NewReader(packed(url("x") + strings.Repeat(" ", MaxBytes))),
			want: 1,
			err:  ErrTooLarge,
		},
		"too many members": {
			r:    io.MultiReader(strings.NewReader(packed(url("x"))), &repeated{text: packed("")}),
			want: 1,
			err:  ErrTooLarge,
		},
	} {
		if got, err := collect(tt.r); len(got) != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: %d entries, %v; want %d, %v", name, len(got), err, tt.want, tt.err)
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

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// A repeated reads the same text for ever.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (n int, err error) {
	n = copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

func TestRead_Stops(t *testing.T) {
	n := 0
	for range Read(strings.NewReader(sample)) {
		n++
		break
	}
	if n != 1 {
		t.Errorf("%d entries", n)
	}
}

// A packed sitemap may be a thousand times as long as what was fetched. It is
// not unpacked as a whole.
func TestRead_Memory(t *testing.T) {
	const page = "<url><loc>http://a.example/</loc></url>"
	for name, filler := range map[string]string{
		"comments": "<!-- " + strings.Repeat("x", 1000) + " -->\n", "lines": strings.Repeat(" ", 1000) + "\n", "space": " ", "elements": "<urlset>",
		"open urls": "<url>", "open locs": "<loc>", "less": "<", "tags": "<a", "quotes": "<a b='", "CDATA": "<![CDATA[x]]>", "entities": "&amp;", "declarations": "<!a [", "instructions": "<?",
	} {
		t.Run(name, func(t *testing.T) {
			body := packed("<urlset>" + page + "<url><loc>" + strings.Repeat(filler, 3<<20/len(filler)) + "</loc></url>" + page)
			runtime.GC()
			r := &heapWatch{r: strings.NewReader(body)}
			before := r.live()
			n := 0
			for range Read(r) {
				n++
			}
			if n == 0 {
				t.Error("no URL")
			}
			if held := int64(r.most) - int64(before); held > 1<<20 {
				t.Errorf("%d bytes of memory for %d", held, len(body))
			}
		})
	}
}

// A heapWatch notes how much memory is in use at each Read.
type heapWatch struct {
	r    io.Reader
	most uint64
}

func (h *heapWatch) live() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

func (h *heapWatch) Read(p []byte) (int, error) {
	h.most = max(h.most, h.live())
	return h.r.Read(p[:min(len(p), 2048)])
}

func BenchmarkRead(b *testing.B) {
	body := "<urlset>" + strings.Repeat("<url><loc>http://a.example/page?a=1&amp;b=2</loc><lastmod>2026-11-21T10:00:00Z</lastmod><changefreq>daily</changefreq></url>\n", 10_000)
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
	for _, seed := range []string{sample, index, rss, atom, packed(index), inUTF16(
		binary.LittleEndian,
		index,
	), "http://a.example/\n", "<url><loc>x", "<urlset><url><loc>a<b='>c</loc>", "<url><loc><![CDATA[x]]]]>&#x41;</url>"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		n := 0
		for e, err := range Read(bytes.NewReader(body)) {
			if err != nil {
				if e != (Entry{}) {
					t.Fatalf("%+v with %v", e, err)
				}
				continue
			}
			n++
			if e.Loc == "" || strings.TrimSpace(e.Loc) != e.Loc || !utf8.ValidString(e.Loc) || strings.ContainsFunc(e.Loc, func(r rune) bool { return r < ' ' }) {
				t.Fatalf("got the URL %q; want text in UTF-8 without control characters and surrounding blanks",
					e.Loc)
			}
			if n > MaxURLs {
				t.Fatal("too many")
			}
		}
		whole, wholeErr := collect(bytes.NewReader(body))
		slow, slowErr := collect(iotest.OneByteReader(bytes.NewReader(body)))
		if !slices.Equal(whole, slow) || fmt.Sprint(wholeErr) != fmt.Sprint(slowErr) {
			t.Fatalf("%q, %v; byte by byte %q, %v", whole, wholeErr, slow, slowErr)
		}
	})
}
