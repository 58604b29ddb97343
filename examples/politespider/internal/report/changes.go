package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// maxChanged is the maximum length of each list of changed hosts or URLs.
const maxChanged = 50

// changes are the differences between an earlier crawl and this one.
type changes struct {
	Counts  []change
	Hosts   []change // see changedHosts
	NowLost []string // URLs that were lost only in this crawl
	Found   []string // URLs that were lost only in the earlier crawl
	More    int      // how many hosts and URLs are not listed
}

// A change is a count in the earlier crawl and the same count in this one.
type change struct {
	What      string
	Then, Now int
	Worse     bool
}

// Difference returns by how much the count has grown, such as +3 or −3.
func (c change) Difference() string {
	if c.Now > c.Then {
		return "+" + cli.Thousands(c.Now-c.Then)
	}
	return "−" + cli.Thousands(c.Then-c.Now)
}

// changesSince compares two crawls. It returns nil if before is nil.
func changesSince(before *record.Summary, now record.Summary) *changes {
	if before == nil {
		return nil
	}
	c := &changes{Counts: changedCounts(*before, now)}
	c.Hosts = truncate(changedHosts(before.Hosts, now.Hosts), &c.More)
	c.NowLost = truncate(onlyIn(now.Lost, before.Lost), &c.More)
	c.Found = truncate(onlyIn(before.Lost, now.Lost), &c.More)
	return c
}

// changedCounts returns the count of each verdict that occurred in one of the
// crawls, and their duration in seconds.
func changedCounts(before, now record.Summary) (counts []change) {
	for _, v := range record.Verdicts {
		c := change{What: string(v), Then: before.Count(v), Now: now.Count(v)}
		if c.Then == 0 && c.Now == 0 {
			continue
		}
		c.Worse = c.Now > c.Then && v.Lost()
		if v == record.Fetched {
			c.Worse = c.Now < c.Then
		}
		counts = append(counts, c)
	}
	return append(counts, change{What: "seconds", Then: int(before.Seconds), Now: int(now.Seconds)})
}

// changedHosts returns the hosts whose number of fetched pages has changed, the
// largest change first.
func changedHosts(before, now []record.HostSummary) (changed []change) {
	byHost := make(map[string]change)
	for _, h := range before {
		byHost[h.Host] = change{What: h.Host, Then: h.Fetched}
	}
	for _, h := range now {
		byHost[h.Host] = change{What: h.Host, Then: byHost[h.Host].Then, Now: h.Fetched}
	}
	for _, c := range byHost {
		if c.Then != c.Now {
			c.Worse = c.Now < c.Then
			changed = append(changed, c)
		}
	}
	slices.SortFunc(changed, func(a, b change) int {
		return cmp.Or(cmp.Compare(abs(b.Now-b.Then), abs(a.Now-a.Then)), cmp.Compare(a.What, b.What))
	})
	return changed
}

// onlyIn returns the URLs of records that others do not contain, each followed
// by its verdict in parentheses.
func onlyIn(records, others []record.Record) (urls []string) {
	known := make(map[string]bool)
	for _, r := range others {
		known[r.URL] = true
	}
	for _, r := range records {
		if !known[r.URL] {
			urls = append(urls, fmt.Sprintf("%s (%s)", r.URL, r.Verdict))
		}
	}
	return urls
}

// truncate returns the first maxChanged elements, and adds the number of the
// others to more.
func truncate[T any](all []T, more *int) []T {
	n := min(len(all), maxChanged)
	*more += len(all) - n
	return all[:n]
}

func abs(n int) int { return max(n, -n) }
