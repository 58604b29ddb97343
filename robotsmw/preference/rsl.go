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
	url      string // as written; empty means any URL
	server   string // the server that must grant the licences, even free ones; empty if none
	licenses []rslLicense
}

// An rslLicense is one license element. If a content element has several, it is
// enough to meet the terms of one.
type rslLicense struct {
	terms   []rslTerm
	payment string // the payment's type; empty or "free" means no payment
	address string // the address of the full terms, for people
	limited bool   // the licence is only for some users or countries, or demands reports
}

// An rslTerm is a permits or prohibits element whose attribute "type" is
// "usage".
type rslTerm struct {
	permits bool
	tokens  []string
	line    int
}

const (
	maxRSL       = 1 << 20 // how many bytes a file may have
	maxRSLItems  = 1000    // limit for contents in a file, licences in a content, and terms in a licence
	rslNamespace = "https://rslstandard.org/rsl"
)

// ParseRSL parses a file of RSL 1.0, which the caller has fetched from one of
// the addresses that [Input.Licenses] lists. It skips unknown elements. It
// keeps the first 1000 content elements of the file, the first 1000 licences of
// each content element, and the first 1000 terms of each licence. For a file
// that has more than 1 MiB, is not XML from beginning to end, or is not RSL,
// ParseRSL returns only an error.
func ParseRSL(body []byte) (*RSL, error) {
	if len(body) > maxRSL {
		return nil, fmt.Errorf("preference: an RSL file of %d bytes: at most %d are read", len(body), maxRSL)
	}
	r := rslReader{xml: xml.NewDecoder(bytes.NewReader(body))}
	root, err := r.root()
	if err != nil {
		return nil, fmt.Errorf("preference: reading an RSL file: %w", err)
	}
	if root.Name.Local != "rsl" {
		return nil, fmt.Errorf("preference: reading an RSL file: it begins with <%.100s>, not with <rsl>", root.Name.Local)
	}
	file := new(RSL)
	err = r.eachChild(func(e xml.StartElement) error {
		if e.Name.Local != "content" || len(file.contents) == maxRSLItems {
			return r.xml.Skip()
		}
		content, err := r.content(e)
		file.contents = append(file.contents, content)
		return err
	})
	if err == nil {
		err = r.end()
	}
	if err != nil {
		return nil, fmt.Errorf("preference: reading an RSL file: %w", err)
	}
	return file, nil
}

// An rslReader reads the elements of an RSL file. Its methods but root and end
// read to the end of the current element.
type rslReader struct{ xml *xml.Decoder }

func (r rslReader) root() (xml.StartElement, error) {
	for {
		token, err := r.xml.Token()
		if err == io.EOF {
			err = errors.New("there is no element in it")
		}
		if err != nil {
			return xml.StartElement{}, err
		}
		if e, ok := token.(xml.StartElement); ok {
			return e, nil
		}
	}
}

// end reads what follows the root element. If another element follows, end
// returns an error.
func (r rslReader) end() error {
	for {
		token, err := r.xml.Token()
		switch token.(type) {
		case xml.StartElement:
			return errors.New("there is a second root element in it")
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// eachChild calls f for each child of the current element. f must
// read the whole child. Children of another XML namespace are skipped.
func (r rslReader) eachChild(f func(e xml.StartElement) error) error {
	for {
		token, err := r.xml.Token()
		if err != nil {
			return err
		}
		switch token := token.(type) {
		case xml.EndElement:
			return nil
		case xml.StartElement:
			if space := token.Name.Space; space != "" && space != rslNamespace {
				err = r.xml.Skip()
			} else {
				err = f(token)
			}
			if err != nil {
				return err
			}
		}
	}
}

func (r rslReader) content(e xml.StartElement) (rslContent, error) {
	c := rslContent{url: attribute(e, "url"), server: attribute(e, "server")}
	return c, r.eachChild(func(e xml.StartElement) error {
		if e.Name.Local != "license" || len(c.licenses) == maxRSLItems {
			return r.xml.Skip()
		}
		license, err := r.license()
		c.licenses = append(c.licenses, license)
		return err
	})
}

func (r rslReader) license() (l rslLicense, err error) {
	return l, r.eachChild(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "permits", "prohibits":
			line, _ := r.xml.InputPos()
			text, err := r.text()
			switch {
			case attribute(e, "type") != "usage":
				l.limited = true
			case len(l.terms) < maxRSLItems:
				tokens := strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return strings.ContainsRune(", \t\r\n", c) })
				l.terms = append(l.terms, rslTerm{e.Name.Local == "permits", tokens, line})
			}
			return err
		case "payment":
			l.payment = strings.ToLower(attribute(e, "type"))
			return r.eachChild(func(e xml.StartElement) error {
				text, err := r.text()
				if e.Name.Local == "custom" || e.Name.Local == "standard" && l.address == "" {
					l.address = strings.TrimSpace(text)
				}
				return err
			})
		case "reporting":
			l.limited = true
		}
		return r.xml.Skip()
	})
}

// text reads the current element to its end, and returns the text in it.
func (r rslReader) text() (string, error) {
	var b strings.Builder
	for depth := 0; ; {
		token, err := r.xml.Token()
		if err != nil {
			return "", err
		}
		switch token := token.(type) {
		case xml.CharData:
			b.Write(token)
		case xml.StartElement:
			depth++
		case xml.EndElement:
			if depth == 0 {
				return b.String(), nil
			}
			depth--
		}
	}
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name && a.Name.Space == "" {
			return strings.TrimSpace(a.Value)
		}
	}
	return ""
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
	switch {
	case c.url == "":
		return "/", true
	case !strings.Contains(c.url, "://"):
		return c.url, true
	}
	scheme, rest, _ := strings.Cut(c.url, "://")
	host, path := rest, "/"
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	if u, err := url.Parse(target); err == nil && u.Host != "" && !(strings.EqualFold(u.Host, host) && strings.EqualFold(u.Scheme, scheme)) {
		return "", false
	}
	return path, true
}
