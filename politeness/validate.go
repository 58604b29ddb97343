package politeness

import (
	"fmt"
	"strings"

	"golang.org/x/time/rate"
)

// Validate returns an error if the Limiter cannot work with its fields. The
// error names the field, and includes its value and what to write instead. If
// the field belongs to a Limiter that is reached through Within, the error
// includes Within too. Validate returns nil under these conditions:
//
//   - Jitter is between 0 and 100, and Adaptive is between 0 and 1e6. NaN is
//     neither.
//   - GlobalRate is nil, or has a burst of at least 1, or has no limit
//     ([rate.Inf]). Otherwise no request could ever start.
//   - Budget.Dir is empty, or Budget.Requests or Budget.Bytes is positive and
//     Fleet is nil.
//   - The chain of Within has an end. Each Limiter in it meets the conditions
//     above, and only the first may have a Fleet or a Budget.
//
// Every value of the other fields is valid. Validate neither calls Key, nor
// opens Budget.Dir, nor contacts the Fleet.
//
// NewClient, NewTransport and NewChecker of package robotsmw,
// collyrobots.Attach, gate.New and [Transport.Validate] return the error of
// Validate. A program that calls Acquire itself should call Validate first,
// because otherwise each Acquire returns that error.
//
// Validate starts nothing and changes nothing, so it may be called before the
// first use of the Limiter and later. It is safe for concurrent use.
func (l *Limiter) Validate() error {
	name := "Limiter" // of the Limiter in an error
	seen := make(map[*Limiter]bool)
	for in := l; in != nil; in = in.Within {
		if seen[in] {
			return invalidField("Limiter", "Within", "a circle", "let the last Limiter of the chain have none")
		}
		seen[in] = true
		if err := in.validateFields(name); err != nil {
			return err
		}
		name = "Limiter" + strings.Repeat(".Within", len(seen)) + ": Limiter"
	}
	return nil
}

// validateFields checks the fields of l, but not those of l.Within.
func (l *Limiter) validateFields(name string) error {
	switch {
	case !(l.Jitter >= 0 && l.Jitter <= 100): // NaN is neither
		return invalidField(name, "Jitter", l.Jitter, "give a fraction of the interval, such as 0.5, or 0 for none")
	case !(l.Adaptive >= 0 && l.Adaptive <= 1e6):
		return invalidField(name, "Adaptive", l.Adaptive, "give how many response times a host should be left alone, such as 5, or 0 for off")
	case l.GlobalRate != nil && grantsNothing(l.GlobalRate):
		return invalidField(name, "GlobalRate", "a rate.Limiter with no burst", "give it a burst of at least 1, because otherwise no request can start")
	}
	if err := l.validateBudget(name); err != nil {
		return err
	}
	return l.validateWithin(name)
}

func (l *Limiter) validateBudget(name string) error {
	switch {
	case l.Budget.Dir == "":
		return nil
	case l.Fleet != nil:
		return invalidField(name, "Budget.Dir", l.Budget.Dir, "leave it out, because Fleet keeps the Budget")
	case !l.Budget.limits():
		return invalidField(name, "Budget.Dir", l.Budget.Dir, "give Budget.Requests or Budget.Bytes too")
	}
	return nil
}

func (l *Limiter) validateWithin(name string) error {
	switch {
	case l.Within == nil:
		return nil
	case l.Within.Budget.limits():
		return invalidField(name, "Within", "a Limiter with Budget", "give Budget to the outer one alone")
	case l.Within.Fleet != nil:
		return invalidField(name, "Within", "a Limiter with Fleet", "give Fleet to the outer one alone, because only one pace is shared by a fleet")
	}
	return nil
}

// grantsNothing reports whether no request can ever take a token from r.
func grantsNothing(r *rate.Limiter) bool { return r.Burst() < 1 && r.Limit() != rate.Inf }

// invalidField returns the error for a field of the Limiter with this name.
// want is what to write instead.
func invalidField(name, field string, value any, want string) error {
	return fmt.Errorf("politeness: %s.%s is %v: %s", name, field, value, want)
}

// Validate returns the error of [Limiter.Validate] for the Transport's Limiter.
// If the Limiter is valid and Base has a method Validate() error, as a
// webbotauth.Transport and another Transport have, Validate returns the error
// of that method. Otherwise it returns nil. NewClient, NewTransport and
// NewChecker of package robotsmw return the error of Validate for a Transport
// that is Options.Base.
//
// Validate starts nothing and changes nothing. It is safe for concurrent use.
func (t *Transport) Validate() error {
	if err := t.limiter().Validate(); err != nil {
		return err
	}
	if base, ok := t.Base.(interface{ Validate() error }); ok {
		return base.Validate()
	}
	return nil
}
