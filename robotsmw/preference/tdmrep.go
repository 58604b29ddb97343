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
	maxTDMRep   = 1 << 20 // bytes
	maxTDMRules = 1000
)

// tdm returns what TDMRep says. A meta overrides the header, and the header
// overrides the file. TDMRep is about text and data mining, and training begins
// with such mining. So tdm has an answer only for training.
func (in Input) tdm() (all []Statement) {
	for _, read := range []func() (said []Statement, ok bool){in.tdmMetas, in.tdmHeader, in.tdmFile} {
		said, ok := read()
		if i := slices.IndexFunc(said, func(s Statement) bool { return s.Answer == Deny }); i >= 0 {
			return append(all, said[i])
		}
		if i := slices.IndexFunc(said, func(s Statement) bool { return s.Answer == Allow }); i >= 0 {
			return append(all, said[i])
		}
		if all = append(all, said...); !ok {
			return all
		}
	}
	return all
}

// reservation returns a statement with the given value of tdm-reservation: 1
// denies, 0 allows, and any other value says nothing.
func reservation(where string, line int, raw, value, policy string) Statement {
	s := Statement{Use: TrainAI, Answer: Unknown, Signal: tdmReservation, Where: where, Line: line, Raw: raw, Policy: policy}
	switch strings.TrimSpace(value) {
	case "1":
		s.Answer = Deny
	case "0":
		s.Answer = Allow
	}
	return s
}

func (in Input) tdmMetas() (said []Statement, ok bool) {
	policy := ""
	for r := range in.Page.Rules() {
		switch {
		case r.Source != robotsmeta.Meta:
		case r.Name == "tdm-policy":
			policy = r.Value
		case r.Name == "tdm-reservation":
			said = append(said, reservation("meta", r.Line, "tdm-reservation: "+r.Raw, r.Value, ""))
		}
	}
	// Rules yields only the first 256 rules of a page. The result of Says
	// includes the later ones.
	isReserved := func(s Statement) bool { return s.Answer == Deny }
	if in.Page.Says("tdm-reservation") && !slices.ContainsFunc(said, isReserved) {
		said = append(said, reservation("meta", 0, "tdm-reservation: 1", "1", ""))
	}
	for i := range said {
		said[i].Policy = policy
	}
	return said, true
}

// If the header is too long to be read, the file must not allow what the header
// may deny: ok is false then.
func (in Input) tdmHeader() (said []Statement, ok bool) {
	lines, ok := in.header(tdmReservation)
	policy := in.Header.Get("Tdm-Policy")
	if len(policy) > maxField {
		policy = ""
	}
	if !ok {
		return []Statement{cutOff(reservation("header", 1, "cannot be read: "+lines[0].Raw, "", policy))}, false
	}
	for _, l := range lines {
		said = append(said, reservation("header", l.Line, tdmReservation+": "+l.Raw, l.Raw, policy))
	}
	return said, true
}

// tdmFile reads the file. The first entry whose location matches counts.
// Entries without a location, and those with a reservation other than 0 and 1,
// are passed over. An entry that is too long, or too far from the beginning, to
// be read may be the one that counts.
func (in Input) tdmFile() (said []Statement, ok bool) {
	if in.TDMRep == nil {
		return nil, true
	}
	var entries []json.RawMessage
	text := bytes.TrimPrefix(in.TDMRep, []byte("\ufeff")) // some editors write a byte order mark
	isLong := len(text) > maxTDMRep
	if isLong || json.Unmarshal(text, &entries) != nil {
		s := reservation("tdmrep.json", 0, "cannot be read: "+string(in.TDMRep[:min(len(in.TDMRep), maxRaw)]), "", "")
		s.cut = isLong
		return []Statement{s}, false
	}
	for _, raw := range entries[:min(len(entries), maxTDMRules)] {
		var e struct {
			Location    string          `json:"location"`
			Reservation json.RawMessage `json:"tdm-reservation"`
			Policy      string          `json:"tdm-policy"`
		}
		if json.Unmarshal(raw, &e) != nil || e.Location == "" {
			continue
		}
		if len(e.Location) > maxPattern {
			return []Statement{cutOff(reservation("tdmrep.json", 0, "cannot be read: "+e.Location, "", ""))}, true
		}
		value := strings.Trim(string(e.Reservation), `"`)
		s := reservation("tdmrep.json", 0, "tdm-reservation: "+value, value, e.Policy)
		if s.Path = e.Location; s.Answer != Unknown && matches(e.Location, in.target()) {
			return []Statement{s}, true
		}
	}
	if len(entries) > maxTDMRules {
		raw := fmt.Sprintf("cannot be read: there are more than %d entries", maxTDMRules)
		return []Statement{cutOff(reservation("tdmrep.json", 0, raw, "", ""))}, true
	}
	return nil, true
}

// cutOff returns s, marked as one that a limit hides in part or as a whole.
func cutOff(s Statement) Statement {
	s.cut = true
	return s
}
