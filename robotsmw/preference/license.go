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
func (in Input) Licenses() (all []License) {
	if in.Robots != nil {
		for f := range in.Robots.Fields("License") {
			if len(all) == maxFields {
				return all
			}
			if f.Value != "" {
				all = append(all, License{f.Value, "robots.txt", f.Line})
			}
		}
	}
	lines, ok := in.header("Link")
	if !ok {
		return all
	}
	for _, line := range lines {
		for _, link := range splitOutside(line.Raw, ',') {
			parts := splitOutside(link, ';')
			target := strings.TrimSpace(parts[0])
			if len(target) < 2 || target[0] != '<' || target[len(target)-1] != '>' {
				continue
			}
			for _, param := range parts[1:] {
				name, value, _ := strings.Cut(param, "=")
				rel := strings.Trim(strings.TrimSpace(value), `"`)
				if len(all) < maxFields && strings.EqualFold(strings.TrimSpace(name), "rel") && hasWord(rel, "license") {
					all = append(all, License{target[1 : len(target)-1], "header", line.Line})
					break
				}
			}
		}
	}
	return all
}

func hasWord(s, word string) bool {
	for w := range strings.FieldsSeq(s) {
		if strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// splitOutside splits s at each sep that is neither in quotes nor in <>.
func splitOutside(s string, sep byte) (parts []string) {
	start, quoted, angle := 0, false, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"' && !angle:
			quoted = !quoted
		case quoted:
		case c == '<':
			angle = true
		case c == '>':
			angle = false
		case c == sep && !angle:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}
