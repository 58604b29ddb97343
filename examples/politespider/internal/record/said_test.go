package record

import (
	"slices"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// The method Flags says in a few words what a page forbids, and how much of the
// page was examined.
func TestFlags(t *testing.T) {
	date := time.Date(2030, time.June, 25, 15, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		record Record
		want   []string
	}{
		{"nothing", Record{}, nil},
		{"noindex, and again later", Record{NoIndex: true, NoFollow: true, Said: Said{UnavailableAfter: date}}, []string{"noindex", "nofollow"}},
		{"noindex later", Record{Said: Said{UnavailableAfter: date}}, []string{"noindex from 2030-06-25"}},
		{"an unknown coding", Record{Said: Said{Examined: robotsmw.PageNotExamined.String(), Coding: "br\x1b"}}, []string{`not examined (br\x1b)`}},
		{"a long page", Record{Said: Said{Examined: robotsmw.PagePartial.String()}}, []string{"examined to 256 KiB"}},
		{"a whole page", Record{Said: Said{Examined: robotsmw.PageComplete.String()}}, nil},
		{"uses", Record{Said: Said{Uses: []preference.Verdict{{Use: preference.Search, Answer: preference.Allow}, {Use: preference.TrainAI, Answer: preference.Deny}}}}, []string{"no train-ai"}},
	} {
		if got := tt.record.Flags(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Evidence returns a line for each thing that a page says, with its place.
func TestEvidence(t *testing.T) {
	tdm := preference.Statement{Use: preference.TrainAI, Answer: preference.Deny, Signal: "TDM-Reservation", Where: "header", Line: 2, Raw: "1", Policy: "https://a.example/policy.json"}
	for _, tt := range []struct {
		name string
		said Said
		want []Evidence
	}{
		{"a license in robots.txt", Said{Licenses: []License{{URL: "https://a.example/rsl.xml", Where: "robots.txt", Line: 3}}}, []Evidence{{"robots.txt, line 3: License: https://a.example/rsl.xml", true}}},
		{"a license in a link", Said{Licenses: []License{{URL: "https://a.example/\x1b", Where: "link"}}}, []Evidence{{`link: License: https://a.example/\x1b`, false}}},
		{"another address", Said{Canonical: "http://a.example/"}, []Evidence{{"canonical: http://a.example/", false}}},
		{"a refresh", Said{Refresh: "5; url=/next"}, []Evidence{{"refresh: 5; url=/next", false}}},
		{"a reservation, which is no directive", Said{
			Directives: []robotsmeta.Rule{{Source: robotsmeta.Meta, Line: 1, Name: "tdm-reservation", Raw: "tdm-reservation: 1"}},
			Uses:       []preference.Verdict{{Use: preference.TrainAI, Answer: preference.Deny, Evidence: []preference.Statement{tdm}}},
		}, []Evidence{{"uses: train-ai deny", false}, {"header, line 2: 1, terms: https://a.example/policy.json", false}}},
		{"how far it may be reused", Said{Reuse: &preference.Verdict{Use: "reference", Answer: preference.Unknown, Evidence: []preference.Statement{
			{Use: "use", Answer: preference.Unknown, Signal: "Content-Signal", Where: "robots.txt", Line: 2, Raw: "use=reference"},
		}}}, []Evidence{{"robots.txt, line 2: Content-Signal: use=reference", true}}},
		{"many links", Said{NotFollowed: []string{"/1", "/2", "/3", "/4"}},
			[]Evidence{{"rel=nofollow: /1", false}, {"rel=nofollow: /2", false}, {"rel=nofollow: /3", false}, {"rel=nofollow: 1 more link", false}}},
	} {
		if got := tt.said.Evidence(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
