package report

import (
	"maps"
	"net/http"
	"slices"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// A statusGroup is a row of the table of statuses: those of one class that lead
// to the same verdict.
type statusGroup struct {
	Class   int // such as 2 for the statuses 200 to 299
	Verdict record.Verdict
	What    string // the verdict in words; may name two verdicts
	Count   int
	Each    []status
}

type status struct {
	Code  int
	Text  string // such as "Not Found"; may be empty
	Count int
}

// groupStatuses returns the rows of the table of statuses, by class.
func groupStatuses(s record.Summary) (rows []statusGroup) {
	for _, code := range slices.Sorted(maps.Keys(s.Statuses)) {
		group := statusGroup{Class: code / 100, Verdict: record.StatusVerdict(code)}
		i := slices.IndexFunc(rows, func(r statusGroup) bool {
			return r.Class == group.Class && r.Verdict == group.Verdict
		})
		if i < 0 {
			i = len(rows)
			group.What = string(group.Verdict)
			if group.Verdict == record.PutOff && s.GivenUp > 0 {
				group.What = "put off, or at last given up"
			}
			rows = append(rows, group)
		}
		count := s.Statuses[code]
		rows[i].Count += count
		rows[i].Each = append(rows[i].Each, status{code, http.StatusText(code), count})
	}
	return rows
}
