package survey

import (
	"cmp"
	"maps"
	"slices"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/lint"
)

// A result is the whole survey, as -json prints it.
type result struct {
	Files    int            `json:"files"`
	Bytes    int            `json:"bytes"`
	Without  map[string]int `json:"without,omitempty"`
	Have     []featureRow   `json:"have"`
	Rules    []patternRow   `json:"rules"`
	Sizes    []sizeRow      `json:"sizes"`
	Worst    map[string]int `json:"worst"`
	Problems []problemRow   `json:"problems"`
	Robots   []robotRow     `json:"robots"`
}

type featureRow struct {
	What  string `json:"what"`
	Files int    `json:"files"`
}

type patternRow struct {
	What  string `json:"what"`
	Rules int    `json:"rules"`
	Files int    `json:"files"`
}

type sizeRow struct {
	What   string `json:"what"`
	Median int    `json:"median"`
	P90    int    `json:"p90"`
	P99    int    `json:"p99"`
	Max    int    `json:"max"`
}

type problemRow struct {
	Code     lint.Code `json:"code"`
	Severity string    `json:"severity"`
	Files    int       `json:"files"`
	Times    int       `json:"times"`
}

type robotRow struct {
	Name    string `json:"name"`
	Files   int    `json:"files"`
	ShutOut int    `json:"shut_out"`
}

// result() returns the counts in the order of the output. The argument is how
// many robots the result has at most: those that occur in the most files.
func (t *tally) result(top int) result {
	r := result{Files: t.files, Bytes: t.nbytes, Without: t.without, Worst: t.worst, Problems: []problemRow{}, Robots: []robotRow{}}
	for _, f := range features {
		r.Have = append(r.Have, featureRow{f.name, t.have[f.name]})
	}
	for i, p := range t.patterns {
		r.Rules = append(r.Rules, patternRow{patterns[i].name, p[0], p[1]})
	}
	for i, sizes := range t.sizes {
		if slices.Sort(sizes); len(sizes) > 0 {
			at := func(percent int) int { return sizes[(len(sizes)*percent+99)/100-1] } // by the nearest-rank method
			r.Sizes = append(r.Sizes, sizeRow{sizeNames[i], at(50), at(90), at(99), at(100)})
		}
	}
	for kind, p := range t.problems {
		r.Problems = append(r.Problems, problemRow{kind.code, kind.severity.String(), p.files, p.times})
	}
	slices.SortFunc(r.Problems, func(a, b problemRow) int {
		return cmp.Or(cmp.Compare(severityOf(b.Severity), severityOf(a.Severity)), cmp.Compare(b.Files, a.Files), cmp.Compare(a.Code, b.Code))
	})
	names := slices.SortedFunc(maps.Keys(t.robots), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.robots[b].files, t.robots[a].files), cmp.Compare(a, b))
	})
	for _, name := range names[:min(len(names), top)] {
		r.Robots = append(r.Robots, robotRow{name, t.robots[name].files, t.robots[name].shut})
	}
	return r
}
