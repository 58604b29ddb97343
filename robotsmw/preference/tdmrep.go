package preference

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

const maxTDMRules = 1000

// ParseTDMRep parses a tdmrep.json. It leaves out entries without a location,
// and entries with a reservation other than 0 and 1. It returns the first 1000
// of the others. A file that is neither a JSON array nor null is an error.
func ParseTDMRep(body []byte) (TDMRep, error) {
	var entries []json.RawMessage
	if err := json.Unmarshal(body, &entries); err != nil {
		return nil, fmt.Errorf("preference: reading tdmrep.json: %w", err)
	}
	rep := TDMRep{}
	for _, raw := range entries {
		if len(rep) == maxTDMRules {
			break
		}
		var e struct {
			Location    string          `json:"location"`
			Reservation json.RawMessage `json:"tdm-reservation"`
			Policy      string          `json:"tdm-policy"`
		}
		// A faulty entry is left out, but the other entries count.
		if json.Unmarshal(raw, &e) != nil || e.Location == "" {
			continue
		}
		if answer := reservation(strings.Trim(string(e.Reservation), `"`)); answer != Unknown {
			rep = append(rep, TDMRule{e.Location, answer == Deny, e.Policy})
		}
	}
	return rep, nil
}

// Match returns the first rule whose location matches a target: the page's path
// and query, or its URL. ok is false if no location matches.
func (r TDMRep) Match(target string) (rule TDMRule, ok bool) {
	for _, rule := range r {
		if matches(rule.Location, target) {
			return rule, true
		}
	}
	return TDMRule{}, false
}

// reservation parses the value of tdm-reservation: 1 denies, 0 allows, and any
// other value is Unknown.
func reservation(value string) Answer {
	switch strings.TrimSpace(value) {
	case "1":
		return Deny
	case "0":
		return Allow
	}
	return Unknown
}

// tdm returns what TDMRep says about a use. A meta overrides the header, and
// the header overrides the file. TDMRep is about text and data mining, and
// training begins with such mining. So tdm has an answer only for training.
func (in Input) tdm(use Use) []Statement {
	if general(use) != TrainAI {
		return nil
	}
	s := Statement{Use: use, Signal: TDMReservation}
	for r := range in.Page.Rules() {
		if r.Source != robotsmeta.Meta {
			continue
		}
		switch r.Name {
		case "tdm-reservation":
			if answer := reservation(r.Value); answer > s.Answer {
				s.Answer, s.Where, s.Line, s.Raw = answer, "meta", r.Line, "tdm-reservation: "+r.Raw
			}
		case "tdm-policy":
			s.Policy = r.Value
		}
	}
	if s.Answer != Unknown {
		return []Statement{s}
	}
	s.Policy = in.Header.Get("Tdm-Policy")
	for i, value := range in.Header.Values("Tdm-Reservation") {
		if answer := reservation(value); answer > s.Answer {
			s.Answer, s.Where, s.Line, s.Raw = answer, "header", i+1, "TDM-Reservation: "+value
		}
	}
	if s.Answer != Unknown {
		return []Statement{s}
	}
	if rule, ok := in.TDMRep.Match(in.target()); ok {
		s.Answer, s.Where, s.Path, s.Policy, s.Raw = Allow, "tdmrep.json", rule.Location, rule.Policy, "tdm-reservation: 0"
		if rule.Reserved {
			s.Answer, s.Raw = Deny, "tdm-reservation: 1"
		}
		return []Statement{s}
	}
	return nil
}
