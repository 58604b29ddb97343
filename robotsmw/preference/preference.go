package preference

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A Use is what a page is to be used for.
type Use string

const (
	Search        Use = "search"          // a search application that links to its results
	TrainAI       Use = "train-ai"        // training an AI model
	TrainAIImages Use = "train-ai-images" // training on images: denied by noimageai, and by all that denies TrainAI
	AIInput       Use = "ai-input"        // as input to a model's answer (grounding, retrieval)
)

// An Answer is what an owner says about a use.
type Answer uint8

const (
	Unknown Answer = iota // nothing was said, or nothing that can be read
	Allow
	Deny
)

// String returns "unknown", "allow" or "deny".
func (a Answer) String() string {
	switch a {
	case Allow:
		return "allow"
	case Deny:
		return "deny"
	}
	return "unknown"
}

// MarshalText is String.
func (a Answer) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads what MarshalText wrote, so that a program can read the
// verdicts in a log.
func (a *Answer) UnmarshalText(text []byte) error {
	for _, known := range []Answer{Unknown, Allow, Deny} {
		if string(text) == known.String() {
			*a = known
			return nil
		}
	}
	return fmt.Errorf("preference: %q is no answer: write unknown, allow or deny", text)
}

// A Signal is a way of saying it.
type Signal string

const (
	ContentUsage   Signal = "Content-Usage"
	ContentSignal  Signal = "Content-Signal"
	TDMReservation Signal = "TDM-Reservation"
	NoAI           Signal = "noai"
	NoImageAI      Signal = "noimageai"
	NoML           Signal = "noml"
	PolicyToken    Signal = "policy token"
)

// Draft names the documents that a signal is read by, with their versions, where they are drafts and may change. It is
// empty for the others.
func (s Signal) Draft() string {
	switch s {
	case ContentUsage:
		return "draft-ietf-aipref-attach-05, draft-ietf-aipref-vocab-08"
	case PolicyToken:
		return "draft-kelley-aipref-training-preference-signal-00"
	case TDMReservation:
		return "TDMRep, a W3C Community Group report"
	}
	return ""
}

// Input is what an owner has said where. Every field may be left empty.
type Input struct {
	Robots *robotstxt.File // the origin's robots.txt; nil: there is none, or it is not asked
	Tokens []string        // our product tokens, which select the group in it; none: the "*" group
	Target string          // the page's path and query, or its URL; empty: "/"

	Header http.Header           // of the response
	Page   robotsmeta.Directives // what header and metas said, as robotsmw.PageDirectives gives it

	// PolicyTokens are names under which robots.txt may address a use, such as {TrainAI: {"Google-Extended"}}. None is
	// built in: they are their inventors' and change from week to week.
	PolicyTokens map[Use][]string

	TDMRep TDMRep // the origin's /.well-known/tdmrep.json, by ParseTDMRep; nil: there is none, or it is not asked
}

// A Statement is one thing that was said.
type Statement struct {
	Use    Use    `json:"use"`
	Answer Answer `json:"answer"`
	Signal Signal `json:"signal"`
	Where  string `json:"where"`            // "robots.txt", "header", "meta", "header or meta" or "tdmrep.json"
	Line   int    `json:"line,omitempty"`   // of robots.txt or the page, or among the header's lines of that field; 0: not known
	Path   string `json:"path,omitempty"`   // what a line of robots.txt or tdmrep.json is limited to, as written; empty: nothing
	Raw    string `json:"raw"`              // the words, such as "train-ai=n"
	Policy string `json:"policy,omitempty"` // TDMRep's tdm-policy, the address of the terms; empty: none
}

// String returns for example "deny by Content-Usage in robots.txt, line 2: train-ai=n". What cannot be printed is
// replaced: the words are a stranger's, and must not write to a terminal.
func (s Statement) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s by %s in %s", s.Answer, s.Signal, s.Where)
	if s.Line > 0 {
		fmt.Fprintf(&b, ", line %d", s.Line)
	}
	fmt.Fprintf(&b, ": %s", s.Raw)
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return utf8.RuneError
		}
		return r
	}, b.String())
}

// A Verdict is the sum of what was said about one use.
type Verdict struct {
	Use      Use         `json:"use"`
	Answer   Answer      `json:"answer"`
	Evidence []Statement `json:"evidence,omitempty"` // all that bears on it, also what was outweighed
}

// String returns the statement that decided, or "unknown".
func (v Verdict) String() string {
	for _, s := range v.Evidence {
		if s.Answer == v.Answer {
			return s.String()
		}
	}
	return v.Answer.String()
}

// For returns what was said about a use: deny if any signal denies it, else allow if any allows it, else unknown.
func (in Input) For(use Use) Verdict {
	v := Verdict{Use: use}
	for _, s := range in.statements(use) {
		v.Evidence = append(v.Evidence, s)
		v.Answer = max(v.Answer, s.Answer)
	}
	return v
}

// Says returns all that was said about the uses that have names here.
func (in Input) Says() []Statement {
	var all []Statement
	for _, use := range []Use{Search, TrainAI, TrainAIImages, AIInput} {
		all = append(all, in.statements(use)...)
	}
	return all
}

func (in Input) statements(use Use) []Statement {
	var all []Statement
	all = append(all, in.contentUsage(use)...)
	all = append(all, in.contentSignal(use)...)
	all = append(all, in.tdm(use)...)
	all = append(all, in.directives(use)...)
	all = append(all, in.policyTokens(use)...)
	return all
}

func (in Input) target() string {
	if in.Target == "" {
		return "/"
	}
	return in.Target
}

// general returns the use that a statement must be about to bear on use: what holds for training holds for training on
// images.
func general(use Use) Use {
	if use == TrainAIImages {
		return TrainAI
	}
	return use
}

// directives reads noai, noimageai and noml.
func (in Input) directives(use Use) (all []Statement) {
	if general(use) != TrainAI {
		return nil
	}
	for r := range in.Page.Rules() {
		var signal Signal
		switch {
		case !r.Known:
			continue
		case r.Name == "noai":
			signal = NoAI
		case r.Name == "noml":
			signal = NoML
		case r.Name == "noimageai" && use == TrainAIImages:
			signal = NoImageAI
		default:
			continue
		}
		where := "header"
		if r.Source == robotsmeta.Meta || r.Source == robotsmeta.Content {
			where = "meta"
		}
		all = append(all, Statement{Use: use, Answer: Deny, Signal: signal, Where: where, Line: r.Line, Raw: r.Raw})
	}
	// Of a page that says hundreds of things not all are kept as rules. They hold all the same.
	add := func(signal Signal, said bool) {
		if said && !slices.ContainsFunc(all, func(s Statement) bool { return s.Signal == signal }) {
			all = append(all, Statement{Use: use, Answer: Deny, Signal: signal, Where: "header or meta", Raw: string(signal)})
		}
	}
	add(NoAI, in.Page.NoAI())
	add(NoML, in.Page.NoML())
	add(NoImageAI, use == TrainAIImages && in.Page.NoImageAI() && !in.Page.NoAI())
	return all
}

// policyTokens asks robots.txt for the names that stand for a use.
func (in Input) policyTokens(use Use) (all []Statement) {
	if in.Robots == nil {
		return nil
	}
	tokens := in.PolicyTokens[use]
	if g := general(use); g != use {
		tokens = append(tokens[:len(tokens):len(tokens)], in.PolicyTokens[g]...)
	}
	for _, token := range tokens {
		m := in.Robots.Rules(token).Match(in.target())
		named, line := false, 0
		for _, agent := range m.Group {
			if !strings.HasPrefix(agent.Value, "*") {
				named, line = true, agent.Line
				break
			}
		}
		s := Statement{Use: use, Answer: Deny, Signal: PolicyToken, Where: "robots.txt", Line: m.Line, Path: m.Pattern}
		switch {
		case m.Allowed && !named:
			continue
		case m.Allowed:
			s.Answer = Allow
		}
		if m.Line == 0 {
			s.Line = line
			s.Raw = "User-agent: " + token
		} else {
			s.Raw = fmt.Sprintf("%s: %s for %s", m.Kind, m.Pattern, token)
		}
		all = append(all, s)
	}
	return all
}
