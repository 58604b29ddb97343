package record

import (
	"slices"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// The flags of a record state briefly what the page forbids, and how much of
// the page was examined.
func TestFlags(t *testing.T) {
	date := time.Date(2030, time.June, 25, 15, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name   string
		record Record
		want   []string
	}{
		{"no directives", Record{}, nil},
		{
			"noindex and unavailable_after",
			Record{NoIndex: true, NoFollow: true, PageInfo: PageInfo{UnavailableAfter: date}},
			[]string{"noindex", "nofollow"},
		},
		{
			"unavailable_after",
			Record{PageInfo: PageInfo{UnavailableAfter: date}},
			[]string{"noindex from 2030-06-25"},
		},
		{
			"an unknown coding",
			Record{PageInfo: PageInfo{Examined: robotsmw.PageNotExamined.String(), Coding: "br\x1b"}},
			[]string{`not examined (br\x1b)`},
		},
		{
			"a partially examined page",
			Record{PageInfo: PageInfo{Examined: robotsmw.PagePartial.String()}},
			[]string{"examined to 256 KiB"},
		},
		{
			"a completely examined page",
			Record{PageInfo: PageInfo{Examined: robotsmw.PageComplete.String()}},
			nil,
		},
		{
			"usage preferences",
			Record{PageInfo: PageInfo{Uses: []preference.Verdict{
				{Use: preference.Search, Answer: preference.Allow},
				{Use: preference.TrainAI, Answer: preference.Deny},
			}}},
			[]string{"no train-ai"},
		},
	} {
		if got := tt.record.Flags(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: Flags() = %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Evidence returns a line for each statement of a page, with its place.
func TestEvidence(t *testing.T) {
	reservation := preference.Statement{
		Use:    preference.TrainAI,
		Answer: preference.Deny,
		Signal: "TDM-Reservation",
		Where:  "header",
		Line:   2,
		Raw:    "1",
		Policy: "https://a.example/policy.json",
	}
	contentUse := preference.Statement{
		Use:    "use",
		Answer: preference.Unknown,
		Signal: "Content-Signal",
		Where:  "robots.txt",
		Line:   2,
		Raw:    "use=reference",
	}
	for _, tt := range []struct {
		name string
		page PageInfo
		want []Evidence
	}{
		{
			"a license in robots.txt",
			PageInfo{Licenses: []License{{URL: "https://a.example/rsl.xml", Where: "robots.txt", Line: 3}}},
			[]Evidence{{"robots.txt, line 3: License: https://a.example/rsl.xml", true}},
		},
		{
			"a license in a link",
			PageInfo{Licenses: []License{{URL: "https://a.example/\x1b", Where: "link"}}},
			[]Evidence{{`link: License: https://a.example/\x1b`, false}},
		},
		{
			"a canonical URL",
			PageInfo{Canonical: "http://a.example/"},
			[]Evidence{{"canonical: http://a.example/", false}},
		},
		{
			"a refresh",
			PageInfo{Refresh: "5; url=/next"},
			[]Evidence{{"refresh: 5; url=/next", false}},
		},
		{
			"a reservation, which is not a directive",
			PageInfo{
				Directives: []robotsmeta.Rule{
					{Source: robotsmeta.Meta, Line: 1, Name: "tdm-reservation", Raw: "tdm-reservation: 1"},
				},
				Uses: []preference.Verdict{{
					Use:      preference.TrainAI,
					Answer:   preference.Deny,
					Evidence: []preference.Statement{reservation},
				}},
			},
			[]Evidence{
				{"uses: train-ai deny", false},
				{"header, line 2: 1, terms: https://a.example/policy.json", false},
			},
		},
		{
			"a preference for reuse",
			PageInfo{Reuse: &preference.Verdict{
				Use:      "reference",
				Answer:   preference.Unknown,
				Evidence: []preference.Statement{contentUse},
			}},
			[]Evidence{{"robots.txt, line 2: Content-Signal: use=reference", true}},
		},
		{
			"four links with rel=nofollow",
			PageInfo{NotFollowed: []string{"/1", "/2", "/3", "/4"}},
			[]Evidence{
				{"rel=nofollow: /1", false},
				{"rel=nofollow: /2", false},
				{"rel=nofollow: /3", false},
				{"rel=nofollow: 1 more link", false},
			},
		},
	} {
		if got := tt.page.Evidence(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: Evidence() = %v, want %v", tt.name, got, tt.want)
		}
	}
}
