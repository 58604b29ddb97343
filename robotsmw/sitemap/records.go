package sitemap

import (
	"bufio"
	"bytes"
	"io"
	"strings"
)

// A markup parses the markup of a sitemap or feed, and passes the entries in it
// to pass.
type markup struct {
	tokenizer
	pass    func(Entry) error // receives the entries
	isFeed  bool              // whether the root element is that of RSS or Atom
	isKnown bool              // whether the text has an element of a sitemap or feed
	hasTags bool              // whether the text has a tag

	path   []name // the open elements, at most maxNesting
	record record // the open record
	field  field  // the open field
}

// A name is the name of an element, in lower case.
type name struct{ prefix, local string }

// A record is a url, a sitemap, an item or an entry element.
type record struct {
	name      name // zero if no record is open
	entry     Entry
	isUpdated bool // whether LastMod is from Atom's updated, which overrides published
}

// A field is a child of a record whose text is needed.
type field struct {
	name      name   // zero if no field is open
	raw       []byte // text that is not decoded yet
	value     []byte // the decoded text before raw
	isTooLong bool   // whether the text exceeds maxLine
}

// maxNesting is the maximum length of markup.path. Sitemaps nest at most five
// elements.
const maxNesting = 100

// readMarkup calls pass for each entry of a text. It returns io.EOF at the end
// of the text.
func readMarkup(text *bufio.Reader, pass func(Entry) error) error {
	m := &markup{tokenizer: tokenizer{text: text}, pass: pass}
	m.handler = m
	err := m.read()
	if err != io.EOF {
		return err
	}
	if err := m.endRecord(); err != nil {
		return err
	}
	if m.hasTags && !m.isKnown {
		return ErrNotSitemap
	}
	return io.EOF
}

// tag implements handler.
func (m *markup) tag(tag []byte) error {
	m.hasTags = true
	text, isEnd := strings.CutPrefix(string(tag), "/")
	isEmpty := strings.HasSuffix(text, "/")
	n, isName := parseName(text)
	if m.inField() {
		if !isName || !n.isStructural() {
			m.addText([]byte("<" + string(tag) + ">")) // part of a URL
			return nil
		}
		m.endField()
	}
	if !isName {
		return nil
	}
	if isEnd {
		return m.endElement(n)
	}
	if err := m.startElement(n, text); err != nil {
		return err
	}
	if isEmpty {
		return m.endElement(n)
	}
	return nil
}

// parseName returns the name at the beginning of a tag. ok is false if there is
// no valid name, as in "b&c=d".
func parseName(tag string) (n name, ok bool) {
	end := strings.IndexAny(tag, " \t\r\n/")
	if end < 0 {
		end = len(tag)
	}
	text := strings.ToLower(tag[:end])
	if text == "" {
		return name{}, false
	}
	for i := range len(text) {
		if !isNameByte(text[i]) {
			return name{}, false
		}
	}
	prefix, local, hasPrefix := strings.Cut(text, ":")
	if !hasPrefix {
		return name{local: text}, true
	}
	return name{prefix, local}, true
}

// isStructural reports whether a tag with this name ends the text of a URL or
// date. Any other tag is part of the text.
func (n name) isStructural() bool {
	if n.prefix != "" {
		return true
	}
	switch n.local {
	case "urlset", "url", "sitemapindex", "sitemap", "loc", "lastmod", "changefreq", "priority",
		"rss", "channel", "item", "link", "pubdate", "title", "description", "guid",
		"author", "category", "comments", "enclosure", "source",
		"feed", "entry", "updated", "published", "id", "summary", "content":
		return true
	}
	return false
}

// addText adds a text to the open field, if there is one and it does not become
// too long.
func (m *markup) addText(text []byte) {
	f := &m.field
	if !m.inField() {
		return
	}
	if len(f.raw)+len(f.value)+len(text) > maxLine {
		f.isTooLong = true
		return
	}
	f.raw = append(f.raw, text...)
}

// decodeRaw moves the raw text of the open field to its value.
func (m *markup) decodeRaw() {
	f := &m.field
	text := decode(f.raw, m.charset)
	f.raw = f.raw[:0]
	for {
		before, after, found := strings.Cut(text, "&")
		f.value = append(f.value, before...)
		if !found {
			return
		}
		decoded, length := entity([]byte("&" + after[:min(len(after), maxEntity)]))
		if length == 0 {
			f.value = append(f.value, '&')
			text = after
			continue
		}
		f.value = append(f.value, decoded...)
		text = after[length-1:]
	}
}

func (m *markup) inField() bool { return m.field.name != name{} }

func (m *markup) startCDATA() { m.decodeRaw() }

func (m *markup) endCDATA() {
	text := bytes.TrimSuffix(m.field.raw, []byte(endOfCDATA))
	m.field.value = append(m.field.value, decode(text, m.charset)...)
	m.field.raw = m.field.raw[:0]
}

// startElement handles the start of an element. tag is its tag, with the
// attributes.
func (m *markup) startElement(n name, tag string) error {
	switch n.local {
	case "rss", "feed", "rdf":
		m.isFeed = true
		m.isKnown = true
	case "urlset", "sitemapindex":
		m.isKnown = true
	}
	if m.isRecord(n) {
		m.isKnown = true
		m.closePath(m.record.name) // even if the end tag is missing
		if err := m.endRecord(); err != nil {
			return err
		}
		m.record.name = n
	} else if m.isField(n) {
		if n.local == "link" && m.record.entry.Loc == "" {
			m.record.entry.Loc = atomLink(tag, m.charset)
		}
		m.field.name = n
	}
	if len(m.path) < maxNesting {
		m.path = append(m.path, n)
	}
	return nil
}

// isRecord reports whether an element is a record in this format.
func (m *markup) isRecord(n name) bool {
	if m.isFeed {
		return n.local == "item" || n.local == "entry"
	}
	return n.local == "url" || n.local == "sitemap"
}

// isField reports whether an element is a child of the open record whose text
// is needed. Children in another namespace, such as image:loc, are not needed,
// except for dc:date in a feed.
func (m *markup) isField(n name) bool {
	r := m.record.name
	if r == (name{}) || m.parent() != r {
		return false
	}
	if m.isFeed && n == (name{"dc", "date"}) {
		return true
	}
	if n.prefix != r.prefix {
		return false
	}
	switch n.local {
	case "loc", "lastmod":
		return !m.isFeed
	case "link", "pubdate", "updated", "published":
		return m.isFeed
	}
	return false
}

// parent returns the innermost open element, or the zero name if there is none.
func (m *markup) parent() name {
	if len(m.path) == 0 {
		return name{}
	}
	return m.path[len(m.path)-1]
}

// atomLink returns the href of a link element of Atom if it is the URL of the
// page (RFC 4287 §4.2.7.2), and "" otherwise.
func atomLink(tag, charset string) string {
	if rel := attribute(tag, "rel"); rel != "" && !strings.EqualFold(rel, "alternate") {
		return ""
	}
	m := &markup{tokenizer: tokenizer{charset: charset}}
	m.field.raw = []byte(attribute(tag, "href"))
	m.decodeRaw()
	return cleanLoc(m.field.value, "")
}

// endElement closes an element, and the elements in it whose end tags are
// missing.
func (m *markup) endElement(n name) error {
	m.closePath(n)
	m.field = field{}
	if n == m.record.name || isRoot(n) {
		return m.endRecord()
	}
	return nil
}

// closePath removes an element and the elements in it from the path. It has no
// effect if the element is not open.
func (m *markup) closePath(n name) {
	for i := len(m.path) - 1; i >= 0; i-- {
		if m.path[i] == n {
			m.path = m.path[:i]
			return
		}
	}
}

func isRoot(n name) bool {
	switch n.local {
	case "urlset", "sitemapindex", "rss", "feed", "rdf", "channel":
		return true
	}
	return false
}

// endField closes the open field and sets the field of the entry that its text
// is for.
func (m *markup) endField() {
	m.decodeRaw()
	f := m.field
	e := &m.record.entry
	m.field = field{}
	if len(m.path) > 0 && m.parent() == f.name {
		m.path = m.path[:len(m.path)-1] // even if the end tag is missing
	}
	if f.isTooLong {
		return
	}
	switch f.name.local {
	case "loc", "link":
		if e.Loc == "" {
			e.Loc = cleanLoc(f.value, "")
		}
	case "updated":
		e.LastMod = parseDate(string(f.value))
		m.record.isUpdated = true
	default:
		if !m.record.isUpdated {
			e.LastMod = parseDate(string(f.value))
		}
	}
}

// endRecord closes the open record, and passes its entry if it has a URL.
func (m *markup) endRecord() error {
	r := m.record
	m.record = record{}
	if r.entry.Loc == "" {
		return nil
	}
	r.entry.Index = r.name.local == "sitemap"
	return m.pass(r.entry)
}
