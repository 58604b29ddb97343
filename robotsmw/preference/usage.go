package preference

import "strings"

// contentUsage reads Content-Usage.
func (in Input) contentUsage(use Use) (all []Statement) {
	key := string(general(use))
	if key != "train-ai" && key != "search" { // the vocabulary has no other
		return nil
	}
	say := func(text, where string, line int, path string) {
		answer := Unknown
		d, _ := parseDictionary(text)
		switch value, _ := d.token(key); value {
		case "y":
			answer = Allow
		case "n":
			answer = Deny
		default:
			return
		}
		all = append(all, Statement{Use: use, Answer: answer, Signal: ContentUsage, Where: where, Line: line, Path: path, Raw: text})
	}
	if fields := in.inForce("Content-Usage"); len(fields) > 0 && in.Robots.Rules(in.Tokens...).Allowed(in.target()) {
		for _, s := range fields {
			say(s.text, "robots.txt", s.line, s.path)
		}
	}
	// The lines of a Dictionary are one (RFC 9651 §3.2).
	if lines := in.Header.Values("Content-Usage"); len(lines) > 0 {
		say(strings.Join(lines, ", "), "header", 1, "")
	}
	return all
}

// contentSignal reads Content-Signal.
func (in Input) contentSignal(use Use) (all []Statement) {
	key := map[Use]string{Search: "search", TrainAI: "ai-train", AIInput: "ai-input"}[general(use)]
	if key == "" {
		return nil
	}
	say := func(text, where string, line int, path string) {
		for name, value := range signals(text) {
			answer := Unknown
			switch {
			case !strings.EqualFold(name, key):
				continue
			case strings.EqualFold(value, "yes"), value == "1":
				answer = Allow
			case strings.EqualFold(value, "no"), value == "0":
				answer = Deny
			default:
				continue
			}
			all = append(all, Statement{Use: use, Answer: answer, Signal: ContentSignal, Where: where, Line: line, Path: path, Raw: text})
		}
	}
	in.eachSignal(say)
	return all
}

func (in Input) eachSignal(say func(text, where string, line int, path string)) {
	for _, s := range in.inForce("Content-Signal", "ContentSignal") {
		say(s.text, "robots.txt", s.line, s.path)
	}
	for i, text := range in.Header.Values("Content-Signal") {
		say(text, "header", i+1, "")
	}
}

// signals yields the names and values of a Content-Signal. They are parted by commas; where they are parted by white
// space or semicolons alone, they are told apart all the same, lest a "no" be lost.
func signals(text string) func(yield func(name, value string) bool) {
	const parts = ",; \t"
	return func(yield func(name, value string) bool) {
		for {
			name, rest, ok := strings.Cut(text, "=")
			if !ok {
				return
			}
			name = strings.TrimRight(name, " \t")
			name = name[strings.LastIndexAny(name, parts)+1:]
			value := strings.TrimLeft(rest, " \t")
			text = ""
			if end := strings.IndexAny(value, parts); end >= 0 {
				value, text = value[:end], value[end:]
			}
			if !yield(name, strings.Trim(value, `"`)) {
				return
			}
		}
	}
}

// A License is the address of terms for which an owner licenses the use of a page (RSL 1.0).
type License struct {
	URL   string `json:"url"`   // as written
	Where string `json:"where"` // "robots.txt" or "header"
	Line  int    `json:"line"`  // of robots.txt, or among the header's lines of that field
}

// Licenses returns the licences that robots.txt (License lines, for the whole origin) and the header (Link with
// rel="license") name, up to 256 of them. Those in the page itself are told by package pagelinks.
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
	for i, line := range in.Header.Values("Link") {
		for _, link := range splitOutside(line, ',') {
			parts := splitOutside(link, ';')
			target := strings.TrimSpace(parts[0])
			if len(target) < 2 || target[0] != '<' || target[len(target)-1] != '>' {
				continue
			}
			for _, param := range parts[1:] {
				name, value, _ := strings.Cut(param, "=")
				rel := strings.Trim(strings.TrimSpace(value), `"`)
				if len(all) < maxFields && strings.EqualFold(strings.TrimSpace(name), "rel") && hasWord(rel, "license") {
					all = append(all, License{target[1 : len(target)-1], "header", i + 1})
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

// splitOutside splits s at each sep that stands neither in quotes nor in <>.
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
