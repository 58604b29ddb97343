package preference

import "strings"

// A License is the location of the license terms for a page (RSL 1.0).
type License struct {
	URL   string `json:"url"`   // unchanged; may be relative
	Where string `json:"where"` // "robots.txt" or "header"
	Line  int    `json:"line"`  // line number in robots.txt or in the header field, counted from 1
}

// Licenses returns the License lines of robots.txt, which apply to the whole
// site, and the Link header lines with rel="license". It returns at most 256
// licenses, and ignores Link lines if they have more than 64 KiB. Licenses in
// the page itself are available from package pagelinks.
func (in Input) Licenses() []License {
	all, _ := in.licenses()
	return all
}

// licenses returns the result of Licenses. truncated reports whether licenses
// may be missing, because a limit was exceeded.
func (in Input) licenses() (all []License, truncated bool) {
	if in.Robots != nil {
		truncated = in.Robots.Truncated()
		for f := range in.Robots.Fields("License") {
			if f.Value == "" {
				continue
			}
			if len(all) == maxFields {
				return all, true
			}
			all = append(all, License{strings.Clone(f.Value), "robots.txt", f.Line})
		}
	}
	lines, ok := in.headerFields("Link")
	if !ok {
		return all, true
	}
	for _, line := range lines {
		_, links, _ := strings.Cut(line.Raw, "<")
		for link := range strings.SplitSeq(links, "<") {
			target, params, ok := strings.Cut(link, ">")
			if !ok || !hasRelLicense(params) {
				continue
			}
			if len(all) == maxFields {
				return all, true
			}
			all = append(all, License{strings.Clone(target), "header", line.Line})
		}
	}
	return all, truncated
}

// hasRelLicense reports whether the parameters of a link, which may end with a
// comma, include rel="license".
func hasRelLicense(params string) bool {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "rel") {
			continue
		}
		for relation := range strings.FieldsSeq(strings.Trim(value, "\", \t")) {
			if strings.EqualFold(relation, "license") {
				return true
			}
		}
	}
	return false
}
