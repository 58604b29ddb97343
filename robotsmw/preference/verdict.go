package preference

import (
	"slices"
	"strings"
)

// A Verdict is the answer for a use, with the statements on which it is based.
type Verdict struct {
	Use      Use         `json:"use"`
	Answer   Answer      `json:"answer"`
	Evidence []Statement `json:"evidence,omitempty"` // all statements about the use
}

// String returns the first statement that has the same answer as the verdict,
// or "unknown" if there is none.
func (v Verdict) String() string {
	for _, s := range v.Evidence {
		if s.Answer == v.Answer {
			return s.String()
		}
	}
	return string(v.Answer)
}

// For returns the Verdict on a use. The answer is deny if any signal denies the
// use. Otherwise it is allow if a signal allows the use and the input does not
// exceed a limit of this package. Otherwise it is unknown.
//
// # Content-Usage
//
// The labels are "train-ai" ([TrainAI]), "ai-use" ([AIInput]) and "search"
// ([Search]), in lower case, and the values are the tokens "y" and "n". Other
// labels and values do not affect the answer. Parameters are ignored. If a
// label is repeated, the last value applies. The value of a line is a
// Dictionary of Structured Fields (RFC 9651). All lines of a header are one
// Dictionary.
//
// In robots.txt, a path may precede the Dictionary. Of the lines that apply to
// the crawler (see robotstxt.File.GroupsFor) and whose path matches the target,
// only those with the longest path are used. Lines in robots.txt are ignored if
// the crawler may not fetch the target. If several lines in robots.txt, or
// robots.txt and the header, have different values, "n" applies.
//
// # Content-Signal
//
// The labels are "ai-train" ([TrainAI]), "ai-input" ([AIInput]) and "search"
// ([Search]), and the values are "yes" and "no". They are parsed leniently: in
// any case, with "1" and "0" as alternatives, and separated by commas,
// semicolons or spaces. If a label is repeated, "no" applies. Other labels and
// values do not affect the answer; the label "use" is available from
// [Input.ContentUse]. Lines in robots.txt are selected as for Content-Usage,
// but are used even if the crawler may not fetch the target.
//
// # TDMRep
//
// The values of tdm-reservation are 1 (reserved, which denies training) and 0
// (not reserved). Other values do not affect the answer. A meta element
// overrides the header, and the header overrides the file. If several meta
// elements or header lines have different values, 1 applies. In the file, the
// first entry whose location matches applies.
//
// # Policy tokens
//
// A policy token is matched like a product token in robots.txt. If a group
// names the token, the use is allowed if the rules of that group allow the
// target, and denied otherwise. If no group names the token, the rules for "*"
// can deny the use, but not allow it, because their author may not have
// considered it.
//
// noai, noimageai and noml deny training. [ParseRSL] documents RSL files.
func (in Input) For(use Use) Verdict { return newVerdict(use, in.statements()) }

// newVerdict returns the verdict on a use that follows from the statements.
func newVerdict(use Use, all []Statement) Verdict {
	v := Verdict{Use: use, Answer: Unknown}
	isTruncated := false
	for _, s := range all {
		if !s.appliesTo(use) {
			continue
		}
		v.Evidence = append(v.Evidence, s.withAnswer(use, s.Answer))
		v.Answer = combine(v.Answer, s.Answer)
		isTruncated = isTruncated || s.truncated
	}
	if v.Answer == Allow && isTruncated {
		v.Answer = Unknown
	}
	return v
}

// Says returns the statements about all uses, followed by up to 256 statements
// with labels that are not known, such as "use=reference". Their Use is the
// label, and their Answer is Unknown.
func (in Input) Says() []Statement {
	all := in.statements()
	var result []Statement
	for _, use := range uses {
		result = append(result, newVerdict(use, all).Evidence...)
	}
	others := slices.DeleteFunc(all, func(s Statement) bool { return slices.Contains(uses, s.Use) })
	return append(result, others[:min(len(others), maxFields)]...)
}

// ContentUse returns the most restrictive value of the label "use" of
// Content-Signal, and the statement that contains this value. The values are,
// from the most to the least restrictive: "immediate" (neither stored nor
// reused), "reference" (indexed, quoted and linked to) and "full" (summarized
// and reproduced). If there is no label "use", both results are zero values. If
// the input exceeds a limit of this package, least is "immediate", and the text
// of the statement describes the limit.
func (in Input) ContentUse() (least string, by Statement) {
	leastIndex := len(contentUses)
	for _, s := range in.statements() {
		if s.Signal != contentSignal {
			continue
		}
		if s.truncated {
			s.Raw = useLabel + "=" + contentUses[0] + ", because the signal " + s.Raw
			return contentUses[0], s
		}
		if s.Use != useLabel {
			continue
		}
		_, value, _ := strings.Cut(s.Raw, "=")
		i := slices.Index(contentUses, strings.ToLower(value))
		if i >= 0 && i < leastIndex {
			leastIndex = i
			least = contentUses[i]
			by = s
		}
	}
	return least, by
}

// statements returns the statements of all signals.
func (in Input) statements() []Statement {
	all := slices.Concat(
		in.contentUsage(),
		in.contentSignal(),
		in.tdmRep(),
		in.noAI(),
		in.policyTokens(),
		in.rslStatements(),
	)
	for i := range all {
		s := &all[i]
		s.Draft = drafts[s.Signal]
		if len(s.Raw) > maxRaw {
			s.Raw = strings.ToValidUTF8(s.Raw[:maxRaw-len("...")], "") + "..."
		}
		// Statements may be stored, and must not retain the file or header.
		s.Raw = strings.Clone(s.Raw)
		s.Path = strings.Clone(s.Path)
		s.Policy = strings.Clone(s.Policy)
		s.Use = Use(strings.Clone(string(s.Use)))
	}
	return all
}
