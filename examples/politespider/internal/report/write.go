package report

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	style string
	//go:embed page.js
	script string

	page = template.Must(template.New("page").Funcs(template.FuncMap{
		"seconds": formatTime,
		"count":   cli.Count,
		"noun":    cli.Noun,
		"number":  cli.Thousands,
		"visible": record.Printable,
	}).Parse(pageHTML))
)

// policy is the report's Content-Security-Policy. It allows the report's own
// script and style, and nothing else. If the text of a crawled site got into
// the report as markup, the browser would neither run its scripts nor load its
// images.
var policy = strings.Join([]string{
	"default-src 'none'",
	"style-src " + hash(style),
	"script-src " + hash(script),
	"base-uri 'none'",
	"form-action 'none'",
}, "; ")

// hash returns the source expression that allows a text by its hash.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// maxLost is the maximum number of lost URLs that the report lists.
const maxLost = 10_000

// An overview is the data that the report's script reads when the report opens.
type overview struct {
	Hosts []hostOverview `json:"hosts"`
	Lost  []lost         `json:"lost"`
	End   int64          `json:"end"` // when the crawl ended, in ms since it began
}

// A hostOverview is a row of the table of hosts. Times are in milliseconds.
type hostOverview struct {
	pace
	Name     string             `json:"name"`
	Origin   string             `json:"origin"`
	Marks    int                `json:"marks"`
	Requests int                `json:"requests"`
	Summary  record.HostSummary `json:"-"`
	Paused   int64              `json:"paused"` // how long the responses of the host paused it
	Interval int64              `json:"interval"`

	// LongestInterval is the interval of the port with the longest one. It is 0
	// if the ports do not differ.
	LongestInterval int64 `json:"longestInterval"`

	Counts map[string]int `json:"counts"` // the number of marks with each mark.letter
	Rules  []*rule        `json:"rules"`
	Groups []*pageGroup   `json:"groups"`
}

// A timeline is the data that the report's script reads to show a host. Most
// columns have one value for each mark. Times are in milliseconds.
type timeline struct {
	At        []int64    `json:"at"`
	Took      []int64    `json:"took"` // -1 if no request was sent
	Intervals []int64    `json:"intervals"`
	Status    []uint16   `json:"status"`
	Verdicts  string     `json:"verdicts"`
	URLs      []string   `json:"urls"` // a URL that begins with the host's origin is stored without the origin
	Note      []uint32   `json:"note"`
	Notes     []string   `json:"notes"`
	Pauses    [][2]int64 `json:"pauses"` // the index of a mark, and the end of the pause that the response caused
	Early     [][2]int64 `json:"early"`  // the index of a mark that was too early, and by how much

	Proofs map[int]Proof `json:"proofs,omitempty"` // the proofs of disallowed URLs, by the index of the mark
}

// A lost is a URL whose page was lost (see record.Verdict.Lost).
type lost struct {
	URL     string `json:"url"`
	Host    string `json:"host"`
	Verdict string `json:"verdict"`
	Status  int    `json:"status"`
	Why     string `json:"why"`
	At      int64  `json:"at"`
}

// Write writes the report as one HTML file.
func (c *Crawl) Write(w io.Writer, s record.Summary) error {
	all, total := c.overview(s)
	data := map[string]any{
		"Policy":       policy,
		"Style":        template.CSS(style),
		"Script":       template.JS(script),
		"What":         c.what,
		"UserAgent":    c.userAgent,
		"Began":        c.Began,
		"Summary":      s,
		"Files":        c.files,
		"Requests":     total.requests,
		"Early":        total.early,
		"Paused":       total.paused,
		"Statuses":     groupStatuses(s),
		"Changes":      changesSince(c.Before, s),
		"Overview":     all,
		"Timelines":    c.timelines(),
		"MarksOmitted": c.marksOmitted,
		"LostOmitted":  max(len(s.Lost)-maxLost, 0),
		"TextOmitted":  c.textOmitted,
	}
	out := bufio.NewWriterSize(w, 1<<16)
	if err := cmp.Or(page.Execute(out, data), out.Flush()); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// totals are sums over all hosts.
type totals struct {
	requests int
	early    int
	paused   int64 // in milliseconds
}

// overview returns the overview of the crawl. A host of the summary that has no
// record is included.
func (c *Crawl) overview(s record.Summary) (overview, totals) {
	all := overview{Lost: []lost{}, End: ms(record.Duration(s.Seconds))}
	for _, r := range s.Lost[:min(len(s.Lost), maxLost)] {
		all.Lost = append(all.Lost, lost{
			URL:     r.URL,
			Host:    r.Host,
			Verdict: string(r.Verdict),
			Status:  r.Status,
			Why:     details(r, nil),
			At:      ms(record.Duration(r.Seconds)),
		})
	}
	summaries := make(map[string]record.HostSummary)
	for _, h := range s.Hosts {
		summaries[h.Host] = h
		c.host(h.Host)
	}
	var total totals
	for _, name := range c.names() {
		o := c.hosts[name].overview(name, summaries[name], c.interval)
		total.requests += o.Requests
		total.early += o.Early
		total.paused += o.Paused
		all.Hosts = append(all.Hosts, o)
	}
	return all, total
}

// names returns the names of the hosts, sorted.
func (c *Crawl) names() []string { return slices.Sorted(maps.Keys(c.hosts)) }

// timelines yields the timelines of all hosts in the order of names. Each is
// made when it is written, so that only one is in memory.
func (c *Crawl) timelines() iter.Seq2[int, timeline] {
	return func(yield func(int, timeline) bool) {
		for n, name := range c.names() {
			if !yield(n, c.hosts[name].timeline(c.interval, c.Proofs)) {
				return
			}
		}
	}
}

// overview returns the host's row of the table of hosts.
func (h *host) overview(name string, s record.HostSummary, interval time.Duration) hostOverview {
	o := hostOverview{
		pace:            measurePace(h.marks, interval),
		Name:            name,
		Origin:          h.origin,
		Marks:           len(h.marks),
		Requests:        s.Requests,
		Summary:         s,
		Paused:          ms(record.Duration(s.Paused)),
		Interval:        ms(record.Duration(s.Interval)),
		LongestInterval: ms(record.Duration(s.LongestInterval)),
		Counts:          make(map[string]int),
		Rules:           append([]*rule{}, h.rules...), // never null in JSON
		Groups:          append([]*pageGroup{}, h.groups...),
	}
	for _, m := range h.marks {
		o.Counts[string(rune(m.letter))]++
	}
	return o
}

// timeline returns the host's marks, sorted by time.
func (h *host) timeline(interval time.Duration, proofs map[string]Proof) timeline {
	p := measurePace(h.marks, interval)
	n := len(h.marks)
	t := timeline{
		At:        make([]int64, n),
		Took:      make([]int64, n),
		Intervals: make([]int64, n),
		Status:    make([]uint16, n),
		URLs:      make([]string, n),
		Note:      make([]uint32, n),
		Notes:     h.notes,
		Pauses:    [][2]int64{},
		Early:     [][2]int64{},
		Proofs:    make(map[int]Proof),
	}
	verdicts := make([]byte, n)
	for i, m := range h.marks {
		verdicts[i] = m.letter
		t.Status[i] = m.status
		t.Note[i] = m.note
		t.At[i] = ms(m.at)
		t.Took[i] = ms(m.took)
		t.Intervals[i] = ms(m.interval)
		t.URLs[i] = h.shorten(m.url)
		if p, ok := proofs[m.url]; ok && m.letter == record.Disallowed.Letter() {
			t.Proofs[i] = p
		}
		if m.paused > 0 {
			t.Pauses = append(t.Pauses, [2]int64{int64(i), ms(m.paused)})
		}
		if p.earlyBy[i] > 0 {
			t.Early = append(t.Early, [2]int64{int64(i), ms(p.earlyBy[i])})
		}
	}
	t.Verdicts = string(verdicts)
	return t
}

// shorten returns the URL without the host's origin, if it begins with that
// origin.
func (h *host) shorten(url string) string {
	path, ok := strings.CutPrefix(url, h.origin)
	if ok && strings.HasPrefix(path, "/") {
		return path
	}
	return url
}
