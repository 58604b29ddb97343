package preference

import "strings"

func (in Input) contentUsage(use Use) (all []Statement) {
	key := string(general(use))
	if key != "train-ai" && key != "search" { // the vocabulary of the draft has only these two uses
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
	// All header lines are read as one Dictionary (RFC 9651 §3.2).
	if lines := in.Header.Values("Content-Usage"); len(lines) > 0 {
		say(strings.Join(lines, ", "), "header", 1, "")
	}
	return all
}
