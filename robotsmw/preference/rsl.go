package preference

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"
)

// An RSL is a file of RSL 1.0 (Really Simple Licensing): the terms for parts of
// a site. ParseRSL returns one. The zero RSL says nothing. An RSL is safe for
// concurrent use.
type RSL struct{ contents []rslContent }

// An rslContent is one content element: terms for the URLs that its url
// matches.
type rslContent struct {
	URL      string       `xml:"url,attr"`    // empty means any URL
	Server   string       `xml:"server,attr"` // the server that must grant the licences, even free ones; empty if none
	Licenses []rslLicense `xml:"https://rslstandard.org/rsl license"`
}

// An rslLicense is one license element. If a content element has several, it is
// enough to meet the terms of one.
type rslLicense struct {
	Permits   []rslTerm `xml:"https://rslstandard.org/rsl permits"`
	Prohibits []rslTerm `xml:"https://rslstandard.org/rsl prohibits"`
	Reporting *struct{} `xml:"https://rslstandard.org/rsl reporting"`
	Payment   struct {
		Type     string `xml:"type,attr"`                            // empty or "free" means no payment
		Custom   string `xml:"https://rslstandard.org/rsl custom"`   // the address of the full terms, for people
		Standard string `xml:"https://rslstandard.org/rsl standard"` // the same, if there is no custom
	} `xml:"https://rslstandard.org/rsl payment"`
}

// An rslTerm is a permits or prohibits element.
type rslTerm struct {
	Type string `xml:"type,attr"` // "usage", or who or where the licence is for
	Text string `xml:",chardata"`
	line int
}

// UnmarshalXML also sets the line.
func (t *rslTerm) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	t.line, _ = d.InputPos()
	type withoutMethods rslTerm
	return d.DecodeElement((*withoutMethods)(t), &start)
}

const (
	maxRSL     = 1 << 20 // how many bytes a file may have
	maxRSLTags = 30_000  // how many tags a file may have
	usage      = "usage"
)

// ParseRSL parses a file of RSL 1.0, which the caller has fetched from one of
// the addresses that [Input.Licenses] lists. It skips unknown elements, and
// what follows the first element. For a file that has more than 1 MiB, 30,000
// tags or a url of more than 64 KiB, is not XML, or is not RSL, ParseRSL
// returns only an error.
//
// The path of a content element's url matches like a pattern of robots.txt. An
// empty url is read as "/", which matches everything. Of the elements that
// match, only those with the longest path are used. A url with another scheme
// or host than Input.Target does not match, unless the target has no host. The
// known usage words are "all", "ai-all", "ai-train" (also "train-ai"),
// "ai-input" and "search". What a licence prohibits is denied. What it permits
// is allowed if the permission is free and for everybody. If a permission has a
// condition, the answer is unknown, and the evidence names the condition. A
// permission has a condition if somebody must pay for it (attribution counts as
// a payment), get the licence from a server, or report the use. A permission
// that only some users or countries have counts as one with a condition too.
// Within one licence, "prohibits" outweighs "permits". A content element with
// several licences offers a choice. So a licence that permits, even with a
// condition, outweighs those that prohibit. A use that no licence names gets no
// answer.
//
// RSL's errata (rslstandard.org/rsl/errata) say that the association of License
// lines with groups was clarified on 2026-01-16, and the revalidation of RSL
// files on 2026-02-19. The clarified text itself was not found. License lines
// are read from the whole robots.txt, whatever group they stand in, as RSL's
// guide to robots.txt says. How long an RSL file may be kept is up to the
// caller, who fetches it: by HTTP's rules, if in doubt.
func ParseRSL(body []byte) (*RSL, error) {
	if len(body) > maxRSL || bytes.Count(body, []byte("<")) > maxRSLTags {
		return nil, fmt.Errorf("preference: an RSL file of %d bytes: at most %d are read, and %d tags", len(body), maxRSL, maxRSLTags)
	}
	var file struct {
		XMLName  xml.Name     `xml:"https://rslstandard.org/rsl rsl"`
		Contents []rslContent `xml:"https://rslstandard.org/rsl content"`
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	d.DefaultSpace = "https://rslstandard.org/rsl" // of files that name none
	err := d.Decode(&file)
	if err == io.EOF {
		err = errors.New("there is no element in it")
	}
	if err != nil {
		return nil, fmt.Errorf("preference: reading an RSL file: %w", err)
	}
	for _, c := range file.Contents {
		if len(c.URL) > maxPattern {
			return nil, fmt.Errorf("preference: reading an RSL file: a url of %d bytes: at most %d are read", len(c.URL), maxPattern)
		}
	}
	return &RSL{file.Contents}, nil
}

// inForce returns the content elements that apply to a target. Several elements
// may match the target. Only those with the longest pattern apply.
func (f *RSL) inForce(target string) []rslContent {
	var best []rslContent
	for _, c := range f.contents {
		pattern, ok := c.pattern(target)
		if !ok || !matches(pattern, target) {
			continue
		}
		if len(best) > 0 {
			longest, _ := best[0].pattern(target)
			switch {
			case longer(pattern, longest, target):
				best = best[:0]
			case longer(longest, pattern, target):
				continue
			}
		}
		best = append(best, c)
	}
	return best
}

// pattern returns the url of a content element as a pattern of robots.txt. If
// the url and the target both have a host, and the hosts or the schemes differ,
// it returns false.
func (c rslContent) pattern(target string) (string, bool) {
	scheme, rest, isAbsolute := strings.Cut(c.URL, "://")
	switch {
	case c.URL == "":
		return "/", true
	case !isAbsolute:
		return c.URL, true
	}
	host, path := rest, "/"
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return path, true
	}
	port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	sameHost := strings.EqualFold(strings.TrimSuffix(u.Host, port), strings.TrimSuffix(host, port))
	return path, sameHost && strings.EqualFold(u.Scheme, scheme)
}

// rslUses maps each usage word of RSL to the uses that it stands for. RSL's
// guides write train-ai instead of ai-train.
var rslUses = map[string][]Use{
	"all":      {Search, TrainAI, AIInput},
	"ai-all":   {TrainAI, AIInput},
	"ai-train": {TrainAI},
	"train-ai": {TrainAI},
	"ai-input": {AIInput},
	"search":   {Search},
}

// words returns the usage words of a term, in lower case.
func (t rslTerm) words() []string {
	if t.Type != usage {
		return nil
	}
	return strings.FieldsFunc(strings.ToLower(t.Text), func(c rune) bool { return strings.ContainsRune(", \t\r\n", c) })
}
