package preference

import (
	"slices"
	"strings"
)

// A Verdict is the answer about one use, with everything that was said about
// the use.
type Verdict struct {
	Use      Use         `json:"use"`
	Answer   Answer      `json:"answer"`
	Evidence []Statement `json:"evidence,omitempty"` // all statements about the use, including those that were outweighed
}

// String returns the first statement that has the verdict's answer, or
// "unknown" if nothing was said.
func (v Verdict) String() string {
	for _, s := range v.Evidence {
		if s.Answer == v.Answer {
			return s.String()
		}
	}
	return string(v.Answer)
}

// For returns the Verdict on a use: the answer and its evidence. If any signal
// denies the use, the answer is deny. If none denies it and one allows it, the
// answer is allow. Otherwise the answer is unknown.
func (in Input) For(use Use) Verdict { return verdictOf(use, in.statements()) }

func verdictOf(use Use, all []Statement) Verdict {
	v := Verdict{Use: use, Answer: Unknown}
	for _, s := range all {
		if s.Use != use && (use != TrainAIImages || s.Use != TrainAI) {
			continue
		}
		v.Evidence = append(v.Evidence, s.about(use, s.Answer))
		if s.Answer == Deny || v.Answer == Unknown {
			v.Answer = s.Answer
		}
	}
	return v
}

// Says returns everything that was said about the uses of this package, and
// then up to 256 statements with labels that this package does not know, such
// as "use=reference". Each of these has the label as its Use, and decides
// nothing: its Answer is Unknown.
func (in Input) Says() (said []Statement) {
	all := in.statements()
	for _, use := range uses {
		said = append(said, verdictOf(use, all).Evidence...)
	}
	unknown := slices.DeleteFunc(all, func(s Statement) bool { return slices.Contains(uses, s.Use) })
	return append(said, unknown[:min(len(unknown), maxFields)]...)
}

// contentUses are the values of Content-Signal's label "use", the least first.
var contentUses = []string{"immediate", "reference", "full"}

// ContentUse returns how far a page may be reused, by the label "use" of
// Content-Signal: "immediate" (read, but neither kept nor reused), "reference"
// (indexed, quoted and linked to) or "full" (summarized and reproduced). If
// several are said, the least counts. The Statement says which line said so. If
// none is said, least is empty.
func (in Input) ContentUse() (least string, by Statement) {
	rank := len(contentUses)
	for _, s := range in.statements() {
		_, value, _ := strings.Cut(s.Raw, "=")
		if r := slices.Index(contentUses, strings.ToLower(value)); s.Signal == contentSignal && s.Use == "use" && r >= 0 && r < rank {
			rank, least, by = r, contentUses[r], s
		}
	}
	return least, by
}

// statements returns what each signal says.
func (in Input) statements() []Statement {
	all := slices.Concat(in.contentUsage(), in.contentSignal(), in.tdm(), in.directives(), in.policyTokens(), in.rsl())
	for i := range all {
		s := &all[i]
		s.Draft = drafts[s.Signal]
		if len(s.Raw) > maxRaw {
			s.Raw = s.Raw[:maxRaw-len("...")] + "..."
		}
	}
	return all
}
