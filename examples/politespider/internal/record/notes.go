package record

import (
	"fmt"
	"time"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta/htmlmeta"
)

// Flags returns short notes: the bot protection, what the page forbids, and
// whether the page was examined only in part or not at all.
func (r Record) Flags() (flags []string) {
	if r.Refusal != nil {
		flags = append(flags, Printable(r.Refusal.String()))
	}
	if r.NoIndex {
		flags = append(flags, "noindex")
	} else if !r.UnavailableAfter.IsZero() {
		flags = append(flags, "noindex from "+r.UnavailableAfter.Format(time.DateOnly))
	}
	if r.NoFollow {
		flags = append(flags, "nofollow")
	}
	switch r.Examined {
	case robotsmw.PageNotExamined.String():
		flags = append(flags, fmt.Sprintf("not examined (%s)", Printable(r.Coding)))
	case robotsmw.PagePartial.String():
		flags = append(flags, fmt.Sprintf("examined to %d KiB", htmlmeta.Window>>10))
	}
	for _, u := range r.Uses {
		if u.Answer == preference.Deny {
			flags = append(flags, fmt.Sprintf("no %s", u.Use))
		}
	}
	return flags
}

// Circumstances returns short notes on the cause of the verdict: the number of
// requests for a page that was given up, the page for which the server was
// checked, the number of redirects to a robots.txt, and the error.
func (r Record) Circumstances() (notes []string) {
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	if r.Verdict == GivenUp {
		add("requested %s", Count(r.Tries, "time"))
	}
	if r.For != "" {
		add("to check the server, because %s was put off", Printable(r.For))
	}
	if r.Redirects > 0 {
		add("after %s", Count(r.Redirects, "redirect"))
	}
	if r.Error != "" {
		add("%s", Printable(r.Error))
	}
	return notes
}
