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
		verdict := record.VerdictOf(code)
		class := code / 100
		i := slices.IndexFunc(rows, func(r statusGroup) bool { return r.Class == class && r.Verdict == verdict })
		if i < 0 {
			i = len(rows)
			rows = append(rows, statusGroup{Class: class, Verdict: verdict, What: string(verdict)})
			if verdict == record.PutOff && s.GivenUp > 0 {
				rows[i].What = "put off, or at last given up"
			}
		}
		rows[i].Count += s.Statuses[code]
		rows[i].Each = append(rows[i].Each, status{code, http.StatusText(code), s.Statuses[code]})
	}
	return rows
}
