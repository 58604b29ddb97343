// Package report writes the outcome of a crawl as one HTML file. A browser
// opens the file from disk, without a network.
//
// Add each [record.Record] to a [Crawl] as it happens. When the crawl is over,
// write the Crawl:
//
//	crawl := report.New("http://example.com/", "ExampleBot/1.0", time.Now(), time.Second)
//	crawl.Add(r, r.DisallowedBy(known), 0) // each record
//	err := crawl.Write(file, summary)
//
// For each host, the file shows when requests were sent, the required intervals
// between them, and the pauses after a 429 or 503. It shows which line of which
// robots.txt disallowed which URLs, and the directives and preferences of
// pages. It also shows which URLs were lost, and which hosts are slow.
//
// Much of the text comes from the crawled sites. The report treats this text as
// data and never as markup. A Content-Security-Policy allows only the report's
// own script and style, and forbids the report to load anything.
//
// # Memory
//
// While a crawl runs, a Crawl keeps a mark for each request, and for each URL
// that was not requested. A mark takes about 100 bytes. There are at most
// [MaxMarks] marks. The Crawl also keeps up to [MaxText] bytes of text:
// robots.txt files that disallowed something, statements, errors. Whatever
// exceeds these limits is omitted, and the report mentions the omission.
package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// MaxMarks and MaxText limit what a Crawl keeps in memory.
const (
	MaxMarks = 1_000_000 // requests, and URLs that were not requested
	MaxText  = 16 << 20  // bytes of text
)

// Pages of a host with the same directives and preferences are reported
// together. At most maxExamples of them are listed, each with at most
// maxExamples of its rel=nofollow links.
const maxExamples = 20

// A Crawl collects what the report shows. It is not safe for concurrent use.
// New makes a Crawl.
type Crawl struct {
	Began  time.Time
	Before *record.Summary  // an earlier crawl to compare with; nil if there is none
	Proofs map[string]Proof // by disallowed URL: the proof to which the report links

	what      string
	userAgent string
	interval  time.Duration

	hosts map[string]*host
	files map[string][]string // the lines of each robots.txt, by its hash

	marksLeft    int  // how many marks may still be added
	marksOmitted int  // how many marks were not added
	textLeft     int  // how many bytes of text may still be added
	textOmitted  bool // whether some text was not added
}

// A Proof is the line of an evidence record that proves why a URL was
// disallowed.
type Proof struct {
	File string `json:"file"` // a link to the file of the record
	Line uint64 `json:"line"` // the number of the line in the record, from the line's field "n"
}

// A host contains what the report shows about a host.
type host struct {
	origin string // the origin of the host's first URL
	marks  []mark

	notes       []string // without repetitions; the first note is empty
	noteNumbers map[string]uint32

	rules      []*rule
	rulesByKey map[string]*rule // the key is made of the URL and hash of the robots.txt, and the line

	groups      []*pageGroup
	groupsByKey map[string]*pageGroup // the key is made of Flags and Evidence
}

// A mark is a request, or a URL that was not requested. The times at and paused
// are counted from the beginning of the crawl.
type mark struct {
	at       time.Duration // when the request was sent, or when it was decided not to send it
	paused   time.Duration // the end of the pause that the response caused; 0 if it caused none
	took     time.Duration // how long it took until the response began; -1 ms if no request was sent
	interval time.Duration // the required interval from the start of the request to the next page
	url      string
	note     uint32 // an index in host.notes
	status   uint16
	letter   byte // stands for the verdict
}

// A rule is a line of a robots.txt that disallowed something.
type rule struct {
	record.Rule        // without Lines
	Note        uint32 `json:"note"` // an index in host.notes, as in the marks of the disallowed URLs
	Count       int    `json:"count"`
}

// A pageGroup contains the directives and preferences that some pages of a host
// have in common.
type pageGroup struct {
	Flags    []string      `json:"flags"`
	Evidence []string      `json:"evidence"`
	URLs     []pageExample `json:"urls"` // some of these pages
	Count    int           `json:"count"`
	Links    int           `json:"links"` // how many links of these pages have rel=nofollow
}

// A pageExample is one of the pages of a pageGroup.
type pageExample struct {
	URL   string   `json:"url"`
	Links []string `json:"links,omitempty"` // examples of the page's links with rel=nofollow
}

// New returns an empty report of a crawl that began at the given time. The
// interval is the minimum time between two requests to a host.
func New(what, userAgent string, began time.Time, interval time.Duration) *Crawl {
	return &Crawl{
		Began:     began,
		what:      what,
		userAgent: userAgent,
		interval:  interval,
		hosts:     make(map[string]*host),
		files:     make(map[string][]string),
		marksLeft: MaxMarks,
		textLeft:  MaxText,
	}
}

// Add adds a record. runBegan is the time from the beginning of the crawl to
// that of the run that made the record, and is 0 for the first run. rule is the
// rule that disallowed the record's URL, or nil if none did. The caller passes
// it because a record of an earlier run contains no Decision.
func (c *Crawl) Add(r record.Record, rule *record.Rule, runBegan time.Duration) {
	h := c.host(r.Host)
	note := details(r, rule)
	if rule != nil {
		c.addDisallowed(h, rule, h.noteNumber(c, note))
	}
	h.addToGroup(c, r)
	if len(r.Requests) > 0 {
		c.addRequests(r, note, runBegan)
		return
	}
	c.addMark(h, mark{
		at:     runBegan + record.Duration(r.Seconds),
		took:   -time.Millisecond,
		url:    r.URL,
		note:   h.noteNumber(c, note),
		letter: r.Verdict.Letter(),
	})
}

// addRequests adds a mark for each request of a record. The note, and the pause
// after the response, belong to the last request.
func (c *Crawl) addRequests(r record.Record, note string, runBegan time.Duration) {
	for i, request := range r.Requests {
		h := c.host(cmp.Or(request.Host, r.Host))
		m := mark{
			at:       runBegan + record.Duration(request.At),
			took:     record.Duration(request.Took),
			interval: record.Duration(request.Interval),
			url:      cmp.Or(request.URL, r.URL),
			status:   uint16(request.Status),
			letter:   r.Verdict.Letter(),
		}
		isLast := i == len(r.Requests)-1
		switch {
		case isLast:
			m.note = h.noteNumber(c, note)
			if r.PausedUntil > 0 {
				m.paused = runBegan + record.Duration(r.PausedUntil)
			}
		case r.Verdict != record.RobotsTxt: // net/http sent the request again
			m.letter = record.PutOff.Letter()
		}
		c.addMark(h, m)
	}
}

// addDisallowed counts a URL that the rule has disallowed, and keeps the lines
// of the rule's file.
func (c *Crawl) addDisallowed(h *host, disallowedBy *record.Rule, note uint32) {
	key := fmt.Sprint(disallowedBy.Robots, " ", disallowedBy.SHA256, " ", disallowedBy.Line)
	if known := h.rulesByKey[key]; known != nil {
		known.Count++
		return
	}
	if !c.reserveText(len(disallowedBy.Text)) {
		return
	}
	added := &rule{Rule: *disallowedBy, Note: note, Count: 1}
	added.Lines = nil
	h.rules = append(h.rules, added)
	h.rulesByKey[key] = added
	c.addFile(disallowedBy.SHA256, disallowedBy.Lines)
}

// addFile keeps the lines of a robots.txt, unless they are known already or too
// long. If lines is nil, it does nothing.
func (c *Crawl) addFile(sha256 string, lines []string) {
	if lines == nil || c.files[sha256] != nil {
		return
	}
	size := 0
	for _, line := range lines {
		size += len(line) + 16 // the header of a string
	}
	if c.reserveText(size) {
		c.files[sha256] = lines
	}
}

// addToGroup counts a page in the group of its directives and preferences.
func (h *host) addToGroup(c *Crawl, r record.Record) {
	flags := r.Flags()
	evidence := []string{}
	links := r.NotFollowed
	// The links are not part of the key, so that pages that differ only in
	// their links are counted together.
	r.NotFollowed = nil
	if len(links) > 0 {
		evidence = append(evidence, "rel=nofollow on links of the page")
	}
	for _, e := range r.Evidence() {
		evidence = append(evidence, e.Text)
	}
	if len(flags) == 0 && len(evidence) == 0 {
		return
	}
	key := strings.Join(flags, "\n") + "\n\n" + strings.Join(evidence, "\n")
	group := h.groupsByKey[key]
	if group == nil {
		if !c.reserveText(2*len(key) + 64) {
			return
		}
		group = &pageGroup{Flags: append([]string{}, flags...), Evidence: evidence}
		h.groups = append(h.groups, group)
		h.groupsByKey[key] = group
	}
	group.Count++
	group.Links += len(links)
	links = links[:min(len(links), maxExamples)]
	size := len(r.URL) + len(strings.Join(links, ""))
	if len(group.URLs) < maxExamples && c.reserveText(size) {
		group.URLs = append(group.URLs, pageExample{URL: r.URL, Links: links})
	}
}

// host returns the host with this name, and adds it if it is new.
func (c *Crawl) host(name string) *host {
	h := c.hosts[name]
	if h == nil {
		h = &host{
			notes:       []string{""},
			noteNumbers: map[string]uint32{"": 0},
			rulesByKey:  make(map[string]*rule),
			groupsByKey: make(map[string]*pageGroup),
		}
		c.hosts[name] = h
	}
	return h
}

// noteNumber returns the number of a note, and adds the note if it is new. If
// there is no room for a new note, noteNumber returns 0, the number of the
// empty note.
func (h *host) noteNumber(c *Crawl, text string) uint32 {
	n, ok := h.noteNumbers[text]
	if !ok && c.reserveText(len(text)+48) {
		n = uint32(len(h.notes))
		h.notes = append(h.notes, text)
		h.noteNumbers[text] = n
	}
	return n
}

// addMark adds a mark. If there are already MaxMarks marks, it only counts the
// mark as omitted.
func (c *Crawl) addMark(h *host, m mark) {
	if c.marksLeft == 0 {
		c.marksOmitted++
		return
	}
	c.marksLeft--
	if h.origin == "" {
		h.origin = record.Origin(m.url)
	}
	h.marks = append(h.marks, m)
}

// reserveText reports whether there is room for nbytes more bytes of text. If
// so, it counts these bytes as used.
func (c *Crawl) reserveText(nbytes int) bool {
	if nbytes > c.textLeft {
		c.textOmitted = true
		return false
	}
	c.textLeft -= nbytes
	return true
}

// details returns what the report shows about a record in addition to its
// verdict, such as the rule or the error.
func details(r record.Record, rule *record.Rule) string {
	var notes []string
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if rule != nil {
		add("line %d: %s", rule.Line, record.Printable(rule.Text))
	}
	if r.Location != "" {
		add("to %s", r.Location)
	}
	notes = append(notes, r.Flags()...)
	if r.Verdict == record.PutOff {
		add("try %d of %d", r.Tries, record.MaxTries)
	}
	notes = append(notes, r.Circumstances()...)
	return strings.Join(notes, ", ")
}
