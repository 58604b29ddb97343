package refusal

import "slices"

// statusSigns are the signs that count with one status, in the order in which
// they are tried. Each status has its own list, so that only a handful of
// fields are looked up for most answers.
type statusSigns struct {
	status int
	fields []fieldSigns
	alone  *headerSign // the status itself as a sign, or nil; it counts if no field shows a sign
	pages  []*pageSign
	sieved bool // whether each sign in the field pages counts with any status
}

// fieldSigns has successive signs of one header field. One look-up of the field
// is enough for all of them.
type fieldSigns struct {
	name  string
	signs []*headerSign
}

// anyStatus stands for all statuses that no sign names.
const anyStatus = 0

// byStatus has an element for each status that a sign names, with the signs
// that count with this status. The first element is for anyStatus: it has only
// the signs that count with every status.
var byStatus = func() []statusSigns {
	statuses := []int{anyStatus}
	for _, s := range headerSigns {
		statuses = append(statuses, s.statuses...)
	}
	for _, s := range pageSigns {
		statuses = append(statuses, s.statuses...)
	}
	slices.Sort(statuses)
	var all []statusSigns
	for _, status := range slices.Compact(statuses) {
		all = append(all, newStatusSigns(status))
	}
	return all
}()

// shortMarks is for pages of at most shortPage bytes, and longMarks is for
// longer pages. shortMarks has one mark of each sign that counts with any
// status. longMarks has the same, without the signs that count only in pages of
// at most shortPage bytes.
var (
	shortMarks = newSieve(shortStride, sievedMarks(0))
	longMarks  = newSieve(longStride, sievedMarks(shortPage))
)

// sievedMarks returns the longest mark of each sign that applies whatever the
// status is. It leaves out the signs whose atMost is not greater than the given
// number.
func sievedMarks(more int) (all []string) {
	for _, s := range pageSigns {
		if len(s.statuses) > 0 || s.atMost <= more {
			continue
		}
		longest := ""
		for _, m := range s.marks {
			if len(m.text) > len(longest) {
				longest = m.text
			}
		}
		all = append(all, longest)
	}
	return all
}

func newStatusSigns(status int) statusSigns {
	of := statusSigns{status: status}
	counts := func(statuses []int) bool { return len(statuses) == 0 || slices.Contains(statuses, status) }
	for i := range headerSigns {
		s := &headerSigns[i]
		if !counts(s.statuses) {
			continue
		}
		if s.field.name == "" {
			of.alone = s
			break
		}
		n := len(of.fields)
		if n == 0 || of.fields[n-1].name != s.field.name {
			of.fields = append(of.fields, fieldSigns{name: s.field.name})
			n++
		}
		of.fields[n-1].signs = append(of.fields[n-1].signs, s)
	}
	of.sieved = true
	for i := range pageSigns {
		if s := &pageSigns[i]; counts(s.statuses) {
			of.pages = append(of.pages, s)
			of.sieved = of.sieved && len(s.statuses) == 0
		}
	}
	return of
}

// signsOf returns the signs that count with the status.
func signsOf(status int) *statusSigns {
	for i := range byStatus {
		if byStatus[i].status == status {
			return &byStatus[i]
		}
	}
	return &byStatus[0]
}
