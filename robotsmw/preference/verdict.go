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
// answer is allow. Otherwise the answer is unknown. It is unknown, too, if a
// signal allows the use but a limit of this package hides a part of what the
// owner states about it, in this signal or in another one. Each signal is read
// by its own rules:
//
// Content-Usage has the labels "train-ai" ([TrainAI]), "ai-use" ([AIInput]) and
// "search" ([Search]), in lower case, with the tokens "y" and "n" as values.
// Any other label or value is listed and decides nothing. Parameters are
// ignored. If a label is repeated, the last value counts. In robots.txt,
// Content-Usage is read from the group for our product token, without the lines
// that are only for other robots (see robotstxt.File.GroupsFor). Its value is a
// Dictionary of Structured Fields (RFC 9651), with an optional path before it.
// Of the lines whose path matches, only those with the longest path are used.
// Among lines with equally long paths, and between robots.txt and header, "n"
// outweighs "y". If the crawler may not fetch the target, all lines of
// Content-Usage in robots.txt are ignored. A line that is no Dictionary cannot
// be read. The lines of the header are one Dictionary.
//
// Content-Signal has the labels "ai-train" ([TrainAI]), "ai-input" ([AIInput])
// and "search" ([Search]). Lines in robots.txt are chosen by group and path as
// for Content-Usage. But they are used even if the crawler may not fetch the
// target. Each line is read by itself, and leniently: labels, "yes" and "no"
// may be in any letter case, and "1" and "0" are accepted. So are semicolons or
// spaces instead of commas. If a label is repeated, "no" outweighs "yes". Any
// other label or value is listed and decides nothing. The label "use" decides
// nothing either: [Input.ContentUse] returns the least of its values.
//
// At most 256 lines of each of these two fields in our group are read. If there
// are more, a line that was not read may be the one that counts. So the answer
// of the lines that were read is never allow. The evidence names the limit.
//
// TDMRep is about training: tdm-reservation is 1 (reserved) or 0. Any other
// value is listed and decides nothing. A meta overrides the header, and the
// header overrides the file. Of several metas or header lines, 1 outweighs 0.
// In the file, only the first matching location is used.
//
// A policy token is looked up like a product token in robots.txt. If a group
// names it, the verdict of that group on the target is the owner's answer. If
// no group names it, the "*" group can deny but not allow, because its author
// did not have this token in mind.
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
	isCut := func(s Statement) bool { return s.cut }
	if v.Answer == Allow && slices.ContainsFunc(v.Evidence, isCut) {
		v.Answer = Unknown
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

// ContentUse returns how far a page may be reused, by the label "use" of
// Content-Signal: "immediate" (read, but neither kept nor reused), "reference"
// (indexed, quoted and linked to) or "full" (summarized and reproduced). If
// there are several, the least counts, and the Statement names its line. If
// there is none, least is empty. If a limit of this package hides a part of the
// Content-Signal lines, least is "immediate", and the Statement names the
// limit.
func (in Input) ContentUse() (least string, by Statement) {
	rank := len(contentUses)
	for _, s := range in.statements() {
		if s.Signal != contentSignal {
			continue
		}
		if s.cut {
			s.Raw = useLabel + "=" + contentUses[0] + ", because it " + s.Raw
			return contentUses[0], s
		}
		_, value, _ := strings.Cut(s.Raw, "=")
		if r := slices.Index(contentUses, strings.ToLower(value)); s.Use == useLabel && r >= 0 && r < rank {
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
		// Programs keep statements, but not the file or the header line that
		// they come from.
		s.Raw = strings.Clone(s.Raw)
		s.Path = strings.Clone(s.Path)
		s.Policy = strings.Clone(s.Policy)
		s.Use = Use(strings.Clone(string(s.Use)))
	}
	return all
}
