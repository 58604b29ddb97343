// Package pagelinks lists the links of an HTML page and says which of them a
// polite crawler may follow.
//
//	resp, err := client.Get("https://example.com/")
//	…
//	page, err := pagelinks.Read(ctx, resp, transport.Checker())
//	…
//	for _, u := range page.Queue() {
//		queue.Add(u)
//	}
//
// [Read] reads and closes the body of a response. [FromHTML] takes a page that
// was read already.
//
// # What keeps a link from being followed
//
//   - the page says "nofollow" or "none", in a header or a meta. Then its links
//     are not followed, nor is its refresh;
//   - the link says rel="nofollow";
//   - robots.txt disallows it, or cannot be checked now. If the Checker is nil,
//     robots.txt is not asked.
//
// rel="ugc" and rel="sponsored" exclude no link, because they only say who
// placed the link. A crawler that wants to skip such links looks at [Link].Rel.
//
// If several links of a page lead to one URL, it is enough that one of them may
// be followed. A nofollow does not forbid the URL itself: another page may link
// to it too.
//
// # What counts as a link
//
// These elements are links: <a>, <area>, <iframe>, <frame>, and the first <meta
// http-equiv="refresh">. They count inside <noscript> too, but not inside
// <template>. Addresses are resolved against the first <base href>. Fragments
// are dropped. Links are left out if they have a scheme other than http and
// https, or an address that net/url cannot parse, such as "/50%-off". A long
// base makes resolved addresses long. When the base has added more than 64 MiB
// to the addresses of a page, the remaining links are left out, and
// [Page].Truncated is true.
package pagelinks

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/goodbots/courtesy/robotsmw"
)

// A Page is an HTML page with its links.
type Page struct {
	URL       *url.URL      // the page's own URL
	Says      robotsmw.Page // what the page says about itself
	Links     []Link        // in the order of the page; links in <noscript> may come last
	Refresh   *Refresh      // where the page redirects by refresh; nil means nowhere
	Canonical *url.URL      // the address that the page gives as its own; nil means none
	Licenses  []*url.URL    // from <link rel="license">: terms, in RSL 1.0 or another form

	// Truncated means that some links are missing: Read stopped at 16 MiB, the
	// base made the links too long, or a noscript is nested too deep.
	Truncated bool

	checker *robotsmw.Checker
	base    *url.URL // the URL that the page's links are relative to
	added   int      // how many bytes the base has added to addresses
}

// maxAdded is how many bytes a base may add to all addresses of a page
// together. This is enough for 600,000 links that each become a hundred bytes
// longer, or for 64 that each become a megabyte longer. Without a limit, the
// links of a page of n bytes could take n² bytes of memory.
const maxAdded = 64 << 20

// A Link is one link of a page.
type Link struct {
	URL      *url.URL // absolute, without a fragment
	Element  string   // "a", "area", "iframe", "frame", or "meta" for a refresh
	Rel      string   // as written
	NoFollow bool     // rel says nofollow

	// Decision is the result of the robots.txt check. It is zero if there is no
	// Checker, if nofollow excludes the link, or if the Checker returned Err
	// instead of a Decision.
	Decision robotsmw.Decision
	Err      error
}

// A Refresh is the first usable <meta http-equiv="refresh"> of a page. Its URL
// is in Links too. If the page reloads itself, URL is the page's own and not in
// Links.
type Refresh struct {
	Delay time.Duration
	URL   *url.URL
}

// FromHTML returns the links of a page in UTF-8 that was read already. It is
// given the page, the address of the page, what robotsmw.PageDirectives
// returned for it, and the Checker that says whether robots.txt allows a link.
// The Checker is asked only about links that nothing else excludes. It may
// fetch the robots.txt and wait. If it is nil, robots.txt is not asked and
// excludes no link. If ctx ends while the Checker judges the links, FromHTML
// returns the Page together with an error that wraps the error of ctx.
func FromHTML(ctx context.Context, page []byte, u *url.URL, says robotsmw.Page, checker *robotsmw.Checker) (*Page, error) {
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(page))
	if err != nil { // the parser accepts any bytes, but limits the depth of nesting
		return nil, fmt.Errorf("pagelinks: reading %s: %w", u, err)
	}
	p := &Page{URL: u, Says: says, checker: checker, base: u}
	p.findBase(doc.Selection)
	p.collect(doc.Selection)
	// The parser acts like a browser with scripts: it keeps the content of
	// <noscript> as text. So this text is parsed here.
	doc.Find("noscript").Each(func(_ int, s *goquery.Selection) {
		if s.Children().Length() > 0 || !strings.Contains(s.Text(), "<") || inTemplate(s) {
			return
		}
		inner, err := goquery.NewDocumentFromReader(strings.NewReader(s.Text()))
		if err != nil { // it is nested too deep
			p.Truncated = true
			return
		}
		p.collect(inner.Selection)
	})
	if checker == nil {
		return p, nil
	}
	return p, p.check(ctx)
}

// Queue returns the URLs that a polite crawler may fetch next, each of them
// once, in the order of Links.
func (p *Page) Queue() []*url.URL {
	var queue []*url.URL
	seen := map[string]bool{}
	for _, l := range p.Links {
		if key := l.URL.String(); !seen[key] && p.Follows(l) {
			seen[key] = true
			queue = append(queue, l.URL)
		}
	}
	return queue
}

// Follows reports whether l, a link of p, may be followed.
func (p *Page) Follows(l Link) bool {
	return p.wants(l) && (p.checker == nil || l.Decision.Allowed)
}

// wants reports whether l may be followed, according to the page and the link
// itself. It does not ask robots.txt.
func (p *Page) wants(l Link) bool { return !p.Says.NoFollow() && !l.NoFollow }

// parallelOrigins is how many origins' robots.txt files are fetched at the same
// time. It limits the sockets of this process, not the load on a server,
// because most origins are on different servers.
const parallelOrigins = 64

// check asks the Checker about each link that nothing else excludes. For the
// other links no robots.txt is fetched. If ctx ends before the Checker is done,
// check returns an error that wraps the error of ctx.
func (p *Page) check(ctx context.Context) error {
	byOrigin := make(map[string][]*Link)
	for i := range p.Links {
		if l := &p.Links[i]; p.wants(*l) {
			origin := l.URL.Scheme + "://" + l.URL.Host
			byOrigin[origin] = append(byOrigin[origin], l)
		}
	}
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallelOrigins)
	for _, links := range byOrigin {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			for _, l := range links {
				l.Decision, l.Err = p.checker.Check(ctx, l.URL)
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("pagelinks: checking the links of %s: %w", p.URL, err)
	}
	return nil
}

func inTemplate(s *goquery.Selection) bool { return s.Closest("template").Length() > 0 }

// findBase sets base to the href of the first <base> that has one (WHATWG HTML
// §4.2.3). If this href is not an http or https URL, base stays as it is.
func (p *Page) findBase(s *goquery.Selection) {
	s.Find("base[href]").EachWithBreak(func(_ int, s *goquery.Selection) bool {
		if inTemplate(s) {
			return true
		}
		href, _ := s.Attr("href")
		if u := resolve(p.URL, href); u != nil {
			p.base = u
		}
		return false
	})
}

func (p *Page) collect(root *goquery.Selection) {
	const links = "a[href], area[href], iframe[src], frame[src], meta[http-equiv][content], link[rel][href]"
	root.Find(links).Each(func(_ int, s *goquery.Selection) {
		element := goquery.NodeName(s)
		address, _ := s.Attr("href")
		if element == "iframe" || element == "frame" {
			address, _ = s.Attr("src")
		}
		rel := s.AttrOr("rel", "")
		switch element {
		case "meta":
			delay, to, ok := refreshOf(s)
			if !ok || p.Refresh != nil || inTemplate(s) {
				return
			}
			u := p.URL
			if to != "" {
				if u = p.resolve(to); u == nil {
					return
				}
			}
			p.Refresh = &Refresh{Delay: delay, URL: u}
			address = to
			if to == "" {
				return // the page reloads itself
			}
		case "link":
			u := p.resolve(address)
			if u == nil || inTemplate(s) {
				return
			}
			if hasWord(rel, "canonical") && p.Canonical == nil {
				p.Canonical = u
			}
			if hasWord(rel, "license") {
				p.Licenses = append(p.Licenses, u)
			}
			return
		}
		u := p.resolve(address)
		if u == nil || inTemplate(s) {
			return
		}
		p.Links = append(p.Links, Link{URL: u, Element: element, Rel: rel, NoFollow: hasWord(rel, "nofollow")})
	})
}

// hasWord reports whether a rel attribute contains the word, in upper or lower
// case. Words are separated by white space and, on many pages, by commas.
func hasWord(rel, word string) bool {
	for w := range strings.FieldsFuncSeq(rel, func(c rune) bool { return c == ',' || strings.ContainsRune(" \t\r\n\f", c) }) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// resolve returns the absolute URL of an address in the page. But if base has
// already added more than maxAdded bytes to the page's addresses, resolve sets
// Truncated and returns nil.
func (p *Page) resolve(address string) *url.URL {
	if p.added > maxAdded {
		p.Truncated = true
		return nil
	}
	u := resolve(p.base, address)
	if u != nil {
		p.added += max(0, len(u.Host)+len(u.Path)+len(u.RawPath)+len(u.RawQuery)-len(address))
	}
	return u
}

// resolve returns the absolute URL of an address as written in a page, without
// its fragment. It returns nil for an address that is not an http or https URL
// with a host.
func resolve(base *url.URL, address string) *url.URL {
	address = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(strings.Trim(address, " \t\r\n\f"))
	u, err := base.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil
	}
	u.Fragment, u.RawFragment = "", ""
	// A bare space would end the target in the request line, but net/http does
	// not escape a space in a query. WHATWG URL §1.3 escapes it.
	u.RawQuery = strings.ReplaceAll(u.RawQuery, " ", "%20")
	return u
}

// refreshOf parses <meta http-equiv="refresh" content="5; url=/next"> (WHATWG
// HTML §4.2.5.3, but more leniently). If the page names a delay of more than a
// day, the returned delay may be shorter, but it is a day at least.
func refreshOf(s *goquery.Selection) (delay time.Duration, address string, ok bool) {
	if !strings.EqualFold(strings.TrimSpace(s.AttrOr("http-equiv", "")), "refresh") {
		return 0, "", false
	}
	content := strings.TrimSpace(s.AttrOr("content", ""))
	n := 0
	for n < len(content) && '0' <= content[n] && content[n] <= '9' {
		if delay < 24*time.Hour {
			delay = delay*10 + time.Duration(content[n]-'0')*time.Second
		}
		n++
	}
	if n == 0 && !strings.HasPrefix(content, ".") {
		return 0, "", false
	}
	address = strings.TrimLeft(content[n:], ".0123456789")
	address = strings.TrimLeft(address, "; ,\t\r\n\f")
	if len(address) >= 3 && strings.EqualFold(address[:3], "url") {
		if value, found := strings.CutPrefix(strings.TrimLeft(address[3:], " \t\r\n\f"), "="); found {
			address = strings.TrimLeft(value, " \t\r\n\f")
		}
	}
	if address != "" && (address[0] == '"' || address[0] == '\'') {
		quote := address[:1]
		address, _, _ = strings.Cut(address[1:], quote)
	}
	return delay, strings.TrimSpace(address), true
}
