package preference

import "strings"

// A License is the address of the terms on which an owner licenses the use of a
// page (RSL 1.0).
type License struct {
	URL   string `json:"url"`   // as written
	Where string `json:"where"` // "robots.txt" or "header"
	Line  int    `json:"line"`  // line in robots.txt, or number of the header line
}

// Licenses returns up to 256 licences: those that robots.txt names for the
// whole origin (License lines), then those that the header names (Link with
// rel="license"). If the Link fields have more than 64 KiB, they name none.
// Package pagelinks lists those that the page itself names.
func (in Input) Licenses() []License {
	all, _ := in.licenses()
	return all
}

// licenses returns the result of Licenses, and whether a limit hides others.
func (in Input) licenses() (all []License, cut bool) {
	if in.Robots != nil {
		cut = in.Robots.Truncated()
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
	lines, ok := in.header("Link")
	if !ok {
		return all, true
	}
	for _, line := range lines {
		_, links, _ := strings.Cut(line.Raw, "<")
		for link := range strings.SplitSeq(links, "<") {
			target, params, ok := strings.Cut(link, ">")
			if !ok || !isLicense(params) {
				continue
			}
			if len(all) == maxFields {
				return all, true
			}
			all = append(all, License{strings.Clone(target), "header", line.Line})
		}
	}
	return all, cut
}

// isLicense reports whether the parameters of a link have rel="license". The
// comma before the next link may follow them.
func isLicense(params string) bool {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		rel := strings.Trim(value, "\", \t")
		if strings.EqualFold(strings.TrimSpace(name), "rel") && hasWord(rel, "license") {
			return true
		}
	}
	return false
}

func hasWord(s, word string) bool {
	for w := range strings.FieldsSeq(s) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}
