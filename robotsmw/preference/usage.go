package preference

import (
	"strings"

	"github.com/goodbots/courtesy/politeness/structured"
)

// maxField is how many bytes a field may have.
const maxField = 64 << 10

func (in Input) contentUsage(use Use) (all []Statement) {
	key := string(general(use))
	if key != "train-ai" && key != "search" { // the vocabulary of the draft has only these two uses
		return nil
	}
	say := func(text, where string, line int, path string) {
		answer := Unknown
		members, _ := structured.Dictionary([]string{text}, maxField)
		for _, m := range members {
			switch {
			case m.Key != key:
			case m.Value == "y":
				answer = Allow
			case m.Value == "n":
				answer = Deny
			}
		}
		if answer == Unknown {
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
