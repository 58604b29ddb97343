package pagelinks

import (
	"net/url"
	"strings"

	"github.com/PuerkitoBio/goquery"
)

func inTemplate(s *goquery.Selection) bool { return s.Closest("template").Length() > 0 }

// findBase sets p.base to the URL of the first <base href> (WHATWG HTML
// §4.2.3), if that is a valid http or https URL.
func (p *Page) findBase(root *goquery.Selection) {
	root.Find("base[href]").EachWithBreak(func(_ int, s *goquery.Selection) bool {
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

// extract adds the links, the refresh and the <link> elements of a document.
func (p *Page) extract(root *goquery.Selection) {
	const elements = "a[href], area[href], iframe[src], frame[src], " +
		"meta[http-equiv][content], link[rel][href]"
	root.Find(elements).Each(func(_ int, s *goquery.Selection) {
		switch element := goquery.NodeName(s); element {
		case "meta":
			p.addRefresh(s)
		case "link":
			p.addLinkElement(s)
		case "iframe", "frame":
			p.addLink(s, element, "src")
		default:
			p.addLink(s, element, "href")
		}
	})
}

// addLink adds a link with the URL in the attribute attr.
func (p *Page) addLink(s *goquery.Selection, element, attr string) {
	ref, _ := s.Attr(attr)
	u := p.resolve(ref)
	if u == nil || inTemplate(s) {
		return
	}
	rel := s.AttrOr("rel", "")
	p.Links = append(p.Links, Link{
		URL:      u,
		Element:  element,
		Rel:      rel,
		NoFollow: hasRel(rel, "nofollow"),
	})
}

// addRefresh adds a <meta http-equiv="refresh">, if it is the first one.
func (p *Page) addRefresh(s *goquery.Selection) {
	if p.Refresh != nil || inTemplate(s) {
		return
	}
	delay, ref, ok := parseRefresh(s)
	if !ok {
		return
	}
	if ref == "" {
		p.Refresh = &Refresh{Delay: delay, URL: p.URL}
		return
	}
	u := p.resolve(ref)
	if u == nil {
		return
	}
	p.Refresh = &Refresh{Delay: delay, URL: u}
	rel := s.AttrOr("rel", "")
	p.Links = append(p.Links, Link{
		URL:      u,
		Element:  "meta",
		Rel:      rel,
		NoFollow: hasRel(rel, "nofollow"),
	})
}

// addLinkElement adds a <link> with rel="canonical" or rel="license".
func (p *Page) addLinkElement(s *goquery.Selection) {
	u := p.resolve(s.AttrOr("href", ""))
	if u == nil || inTemplate(s) {
		return
	}
	rel := s.AttrOr("rel", "")
	if hasRel(rel, "canonical") && p.Canonical == nil {
		p.Canonical = u
	}
	if hasRel(rel, "license") {
		p.Licenses = append(p.Licenses, u)
	}
}

// hasRel reports whether a rel attribute contains a link type, in any case.
// Link types should be separated by white space, but many pages use commas.
func hasRel(rel, linkType string) bool {
	isSeparator := func(c rune) bool { return strings.ContainsRune(", \t\r\n\f", c) }
	for t := range strings.FieldsFuncSeq(rel, isSeparator) {
		if strings.EqualFold(t, linkType) {
			return true
		}
	}
	return false
}

// maxResolvedBytes is the maximum of Page.resolvedBytes. It is sufficient for
// 600,000 links to which a base adds a hundred bytes each. Without a limit, the
// links of a page of n bytes could occupy n² bytes of memory.
const maxResolvedBytes = 64 << 20

// resolve resolves a URL reference of the page. It returns nil if the reference
// is invalid, or if the page exceeds maxResolvedBytes.
func (p *Page) resolve(ref string) *url.URL {
	if p.resolvedBytes > maxResolvedBytes {
		p.Truncated = true
		return nil
	}
	u := resolve(p.base, ref)
	if u != nil {
		size := len(u.Host) + len(u.Path) + len(u.RawPath) + len(u.RawQuery)
		p.resolvedBytes += max(0, size-len(ref))
	}
	return u
}

// resolve resolves a URL reference and removes its fragment. It returns nil if
// the result is not an http or https URL with a host.
func resolve(base *url.URL, ref string) *url.URL {
	target, _, _ := strings.Cut(newlineRemover.Replace(strings.Trim(ref, space)), "#")
	if len(target) < len(ref) {
		target = strings.Clone(target) // so that a stored URL does not retain a long fragment
	}
	u, err := base.Parse(target)
	if err != nil || u.Host == "" {
		return nil
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	u.Fragment = ""
	u.RawFragment = ""
	// net/http does not escape spaces in a query, but they would end the target
	// in the request line. WHATWG URL §1.3 escapes them.
	u.RawQuery = strings.ReplaceAll(u.RawQuery, " ", "%20")
	return u
}

var newlineRemover = strings.NewReplacer("\t", "", "\n", "", "\r", "")
