package identity

import (
	"fmt"
	"io"
	"time"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw/webbotauth"
)

// A report is the result, as -json prints it.
type report struct {
	URL      string    `json:"url"`
	Keys     []key     `json:"keys"`
	Problems []string  `json:"problems,omitempty"`
	Files    []string  `json:"files,omitempty"`
	Renew    time.Time `json:"renew,omitzero"`
}

type key struct {
	ID          string    `json:"id"`
	SignedUntil time.Time `json:"signed_until,omitzero"`
}

func (r *report) look(keys []webbotauth.DirectoryKey, problems []string) {
	r.Problems = problems
	for _, k := range keys {
		r.Keys = append(r.Keys, key{k.ID, k.Until.UTC()})
	}
}

func (r *report) print(w io.Writer) {
	fmt.Fprintln(w, command.Printable(r.URL))
	for _, k := range r.Keys {
		signed := "not signed"
		if !k.SignedUntil.IsZero() {
			signed = "signed until " + k.SignedUntil.Format(time.RFC3339)
		}
		fmt.Fprintf(w, "  key %s, %s\n", k.ID, signed)
	}
	for _, problem := range r.Problems {
		fmt.Fprintf(w, "  problem: %s\n", command.Printable(problem))
	}
	for _, file := range r.Files {
		fmt.Fprintf(w, "  wrote %s\n", command.Printable(file))
	}
	switch {
	case !r.Renew.IsZero():
		fmt.Fprintf(w, "  make it again by %s\n", r.Renew.Format(time.RFC3339))
	case len(r.Problems) == 0:
		fmt.Fprintln(w, "  all is well")
	}
}
