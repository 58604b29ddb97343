package audit

import "fmt"

// A recordFault is a fault in the record itself.
type recordFault struct {
	kind faultKind
	text string
}

type faultKind string

const (
	changed     faultKind = "changed"
	contradicts faultKind = "contradicts"
	incomplete  faultKind = "cut"
)

func (f *recordFault) Error() string { return string(f.kind) + ": " + f.text }

func contradiction(format string, args ...any) error {
	return &recordFault{contradicts, fmt.Sprintf(format, args...)}
}

var (
	errChanged   = &recordFault{changed, "the line does not have the hash that it names"}
	errMissing   = &recordFault{changed, "the line does not follow the one before it"}
	errFile      = &recordFault{changed, "the bytes of the robots.txt have another hash"}
	errCut       = &recordFault{incomplete, "the record ends in a line that is not whole: what came after is not known"}
	errUnclosed  = &recordFault{incomplete, "the session did not end here in order: what came after is not known"}
	errBeginning = &recordFault{incomplete, "the record does not begin here: what was before is not known"}
)

// A recordRobot is the robot of a record, and collects what is found out about
// it.
type recordRobot struct {
	a    *Auditor
	sums *Tally
	say  func(error) // reports a fault in the record
	name string
}

// site returns where requests for a URL are counted.
func (o *recordRobot) site(url string) (*robot, *site) {
	r := o.a.robot(o.name)
	_, host := originOf(url)
	return r, o.a.site(r, host)
}

func (o *recordRobot) report(v Violation) {
	r, s := o.site(v.URL)
	v.Robot, v.Host = r.name, s.host.Name
	o.a.report(v, r, s)
}
