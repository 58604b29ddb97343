package preference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

const (
	maxTDMRep     = 1 << 20 // maximum size of tdmrep.json in bytes
	maxTDMEntries = 1000
)

// tdmRep returns the statements of TDMRep. The first source that has an answer
// contributes one statement with that answer, and later sources are ignored.
// The sources before it contribute all of their statements. All statements are
// about training, because training requires text and data mining.
func (in Input) tdmRep() []Statement {
	sources := []func() (all []Statement, complete bool){in.tdmMetas, in.tdmHeader, in.tdmFile}
	var unanswered []Statement
	for _, source := range sources {
		all, complete := source()
		for _, answer := range []Answer{Deny, Allow} {
			hasAnswer := func(s Statement) bool { return s.Answer == answer }
			if i := slices.IndexFunc(all, hasAnswer); i >= 0 {
				return append(unanswered, all[i])
			}
		}
		unanswered = append(unanswered, all...)
		if !complete {
			// The next source must not allow what this source may deny.
			return unanswered
		}
	}
	return unanswered
}

// newReservation returns the statement of a tdm-reservation with the given
// value. It has no answer unless the value is 0 or 1.
func newReservation(where string, line int, raw, value string) Statement {
	s := Statement{
		Use:    TrainAI,
		Answer: Unknown,
		Signal: tdmReservation,
		Where:  where,
		Line:   line,
		Raw:    raw,
	}
	switch strings.TrimSpace(value) {
	case "1":
		s.Answer = Deny
	case "0":
		s.Answer = Allow
	}
	return s
}

// newTruncatedTDM returns a statement without an answer, for input that exceeds
// a limit.
func newTruncatedTDM(where string, line int, raw string) Statement {
	s := newReservation(where, line, unreadablePrefix+raw, "")
	s.truncated = true
	return s
}

func (in Input) tdmMetas() (all []Statement, complete bool) {
	policy := ""
	for r := range in.Page.Rules() {
		if r.Source != robotsmeta.Meta {
			continue
		}
		switch r.Name {
		case "tdm-policy":
			policy = r.Value
		case "tdm-reservation":
			all = append(all, newReservation("meta", r.Line, "tdm-reservation: "+r.Raw, r.Value))
		}
	}
	// Rules yields only the first 256 directives of a page, but Says reports
	// all of them.
	isReserved := func(s Statement) bool { return s.Answer == Deny }
	if in.Page.Says("tdm-reservation") && !slices.ContainsFunc(all, isReserved) {
		all = append(all, newReservation("meta", 0, "tdm-reservation: 1", "1"))
	}
	for i := range all {
		all[i].Policy = policy
	}
	return all, true
}

func (in Input) tdmHeader() (all []Statement, complete bool) {
	policy := in.Header.Get("Tdm-Policy")
	if len(policy) > maxField {
		policy = ""
	}
	lines, ok := in.headerFields(tdmReservation)
	if !ok {
		s := newTruncatedTDM("header", 1, lines[0].Raw)
		s.Policy = policy
		return []Statement{s}, false
	}
	for _, l := range lines {
		s := newReservation("header", l.Line, tdmReservation+": "+l.Raw, l.Raw)
		s.Policy = policy
		all = append(all, s)
	}
	return all, true
}

// A tdmEntry is an entry of tdmrep.json.
type tdmEntry struct {
	Location    string          `json:"location"`
	Reservation json.RawMessage `json:"tdm-reservation"` // a number or a string
	Policy      json.RawMessage `json:"tdm-policy"`      // a string
}

// policy returns the tdm-policy, or "" if it is not a string. An invalid policy
// does not invalidate the reservation of the entry.
func (e *tdmEntry) policy() string {
	var policy string
	if json.Unmarshal(e.Policy, &policy) != nil {
		return ""
	}
	return policy
}

// tdmFile returns the statement of the first entry that has a valid reservation
// and a location that matches. If the file is invalid, or exceeds a limit
// before that entry, tdmFile returns a statement without an answer.
func (in Input) tdmFile() (all []Statement, complete bool) {
	const where = "tdmrep.json"
	if in.TDMRep == nil {
		return nil, true
	}
	var entries []json.RawMessage
	text := bytes.TrimPrefix(in.TDMRep, []byte("\ufeff")) // byte order mark
	isTooLong := len(text) > maxTDMRep
	if isTooLong || json.Unmarshal(text, &entries) != nil {
		s := newTruncatedTDM(where, 0, string(in.TDMRep[:min(len(in.TDMRep), maxRaw)]))
		s.truncated = isTooLong
		return []Statement{s}, false
	}
	for _, raw := range entries[:min(len(entries), maxTDMEntries)] {
		var e tdmEntry
		if json.Unmarshal(raw, &e) != nil || e.Location == "" {
			continue
		}
		if len(e.Location) > maxPattern {
			return []Statement{newTruncatedTDM(where, 0, e.Location)}, true
		}
		value := strings.Trim(string(e.Reservation), `"`)
		s := newReservation(where, 0, "tdm-reservation: "+value, value)
		s.Path = e.Location
		s.Policy = e.policy()
		if s.Answer != Unknown && matches(e.Location, in.target()) {
			return []Statement{s}, true
		}
	}
	if len(entries) > maxTDMEntries {
		raw := fmt.Sprintf("there are more than %d entries", maxTDMEntries)
		return []Statement{newTruncatedTDM(where, 0, raw)}, true
	}
	return nil, true
}
