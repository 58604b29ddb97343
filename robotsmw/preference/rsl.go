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

// An RSL is a parsed RSL 1.0 file (Really Simple Licensing), which contains
// license terms for parts of a site. The zero value has no terms. An RSL is
// immutable, and safe for concurrent use by multiple goroutines.
type RSL struct{ contents []rslContent }

// An rslContent is a content element: terms for the URLs that match its url.
type rslContent struct {
	URL      string       `xml:"url,attr"`    // "" for all URLs
	Server   string       `xml:"server,attr"` // the server that grants the licenses; "" if none is needed
	Licenses []rslLicense `xml:"https://rslstandard.org/rsl license"`
}

// An rslLicense is a license element. If a content element contains several,
// users may choose one of them.
type rslLicense struct {
	Permits   []rslTerm `xml:"https://rslstandard.org/rsl permits"`
	Prohibits []rslTerm `xml:"https://rslstandard.org/rsl prohibits"`
	Reporting *struct{} `xml:"https://rslstandard.org/rsl reporting"`
	Payment   struct {
		Type     string `xml:"type,attr"`                            // "" or "free" if there is no payment
		Custom   string `xml:"https://rslstandard.org/rsl custom"`   // the URL of the terms
		Standard string `xml:"https://rslstandard.org/rsl standard"` // the URL of the terms, if Custom is empty
	} `xml:"https://rslstandard.org/rsl payment"`
}

// An rslTerm is a permits or prohibits element.
type rslTerm struct {
	Type string `xml:"type,attr"` // usageTerm, or a limit of the license to users or countries
	Text string `xml:",chardata"`
	line int
}

const usageTerm = "usage"

// UnmarshalXML implements [xml.Unmarshaler]. It also sets the line, which
// encoding/xml does not provide.
func (t *rslTerm) UnmarshalXML(d *xml.Decoder, start xml.StartElement) error {
	t.line, _ = d.InputPos()
	type withoutMethods rslTerm
	return d.DecodeElement((*withoutMethods)(t), &start)
}

const (
	maxRSL       = 1 << 20 // maximum size of a file in bytes
	maxRSLTags   = 30_000
	rslNamespace = "https://rslstandard.org/rsl"
)

// ParseRSL parses an RSL 1.0 file, such as one of those listed by
// [Input.Licenses]. Unknown elements are skipped. ParseRSL returns an error if
// the file is not valid XML or not RSL, or if it has more than 1 MiB, 30,000
// tags, or a url of more than 64 KiB.
//
// # Selecting content elements
//
// The path of the url of a content element is matched like a pattern in
// robots.txt; an empty url matches everything. Of the matching elements, only
// those with the longest path are used. If both the url and Input.Target have a
// host, schemes and hosts must also be equal.
//
// # Terms
//
// A license prohibits or permits uses by the words "all", "ai-all", "ai-train"
// (or "train-ai"), "ai-input" and "search". A prohibited use is denied. A
// permitted use is allowed, unless the permission has conditions, in which case
// the answer is unknown and the evidence lists the conditions. Conditions are a
// payment (including attribution), a license server, reporting, and a limit to
// some users or countries. Within a license, "prohibits" overrides "permits".
// If a content element has several licenses, a license that permits a use
// overrides others that prohibit it, because users may choose. A license that
// does not mention a use has no effect on the answer for that use.
//
// # License lines and caching
//
// License lines in robots.txt apply to the whole site, as in RSL's guide to
// robots.txt, even if they are within a group. According to the errata
// (rslstandard.org/rsl/errata), their association with groups was clarified on
// 2026-01-16, but the clarified text has not been found. The caller decides how
// long an RSL file may be cached. The HTTP caching rules (RFC 9111) are a good
// default.
func ParseRSL(body []byte) (*RSL, error) {
	if len(body) > maxRSL {
		return nil, fmt.Errorf("preference: parsing RSL file: file has %d bytes, maximum is %d",
			len(body), maxRSL)
	}
	if tags := bytes.Count(body, []byte("<")); tags > maxRSLTags {
		return nil, fmt.Errorf("preference: parsing RSL file: file has %d tags, maximum is %d",
			tags, maxRSLTags)
	}
	var file struct {
		XMLName  xml.Name     `xml:"https://rslstandard.org/rsl rsl"`
		Contents []rslContent `xml:"https://rslstandard.org/rsl content"`
	}
	d := xml.NewDecoder(bytes.NewReader(body))
	d.DefaultSpace = rslNamespace
	err := d.Decode(&file)
	if err == io.EOF {
		err = errors.New("file has no element")
	}
	if err != nil {
		return nil, fmt.Errorf("preference: parsing RSL file: %w", err)
	}
	for _, c := range file.Contents {
		if len(c.URL) > maxPattern {
			return nil, fmt.Errorf("preference: parsing RSL file: url has %d bytes, maximum is %d",
				len(c.URL), maxPattern)
		}
	}
	return &RSL{file.Contents}, nil
}

// contentsFor returns the content elements that apply to a target, which are
// those with the longest pattern that matches.
func (f *RSL) contentsFor(target string) []rslContent {
	pattern := func(c rslContent) string {
		p, _ := c.pattern(target)
		return p
	}
	var longest []rslContent
	for _, c := range f.contents {
		if _, ok := c.pattern(target); ok {
			longest = appendLongest(longest, c, target, pattern)
		}
	}
	return longest
}

// pattern returns the url of a content element as a pattern of robots.txt. ok
// is false if the scheme or host of the url differs from that of the target.
func (c rslContent) pattern(target string) (pattern string, ok bool) {
	if c.URL == "" {
		return "/", true
	}
	scheme, rest, isAbsolute := strings.Cut(c.URL, "://")
	if !isAbsolute {
		return c.URL, true
	}
	host, path, _ := strings.Cut(rest, "/")
	path = "/" + path
	u, err := url.Parse(target)
	if err != nil || u.Host == "" {
		return path, true
	}
	port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]
	sameHost := strings.EqualFold(
		strings.TrimSuffix(u.Host, port), strings.TrimSuffix(host, port))
	return path, sameHost && strings.EqualFold(u.Scheme, scheme)
}

// rslUses maps the words of a usage term to uses. The guides of RSL use
// "train-ai" instead of "ai-train".
var rslUses = map[string][]Use{
	"all":      {Search, TrainAI, AIInput},
	"ai-all":   {TrainAI, AIInput},
	"ai-train": {TrainAI},
	"train-ai": {TrainAI},
	"ai-input": {AIInput},
	"search":   {Search},
}

// usageWords returns the words of a usage term in lower case, or nil for any
// other term.
func (t rslTerm) usageWords() []string {
	if t.Type != usageTerm {
		return nil
	}
	isSeparator := func(c rune) bool { return strings.ContainsRune(", \t\r\n", c) }
	return strings.FieldsFunc(strings.ToLower(t.Text), isSeparator)
}
