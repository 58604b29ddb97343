package keep

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// A History is a file of JSON lines with the records of a crawl. Before the
// records of each run, a line has the time when the run began.
type History struct {
	file  *os.File
	lines *json.Encoder // writes to the file
	err   error
}

// An event is a line of the file.
type event struct {
	Began time.Time `json:"began,omitzero"` // when a run began; zero if the line is a record
	*record.Record
	Rule *record.Rule `json:"rule,omitempty"` // stored instead of Record.Decision
}

// openHistory opens the history in dir.
func openHistory(dir string) (*History, error) {
	path := filepath.Join(dir, "records.jsonl")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &History{file: file, lines: cli.NewEncoder(file)}, nil
}

// Past calls add with each record of the earlier runs, and with the time at
// which the record's run began. If a killed process left an incomplete line at
// the end, Past cuts it off. Call Past before Begin.
func (h *History) Past(add func(began time.Time, r record.Record, rule *record.Rule)) error {
	var began time.Time
	good, err := frontier.ReadLines(h.file, func(e event) error {
		if e.Record == nil {
			began = e.Began
		} else {
			add(began, *e.Record, e.Rule)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the history of the crawl: %s: %w; "+
			"if that file is removed, the crawl continues without its history", h.file.Name(), err)
	}
	return h.file.Truncate(good)
}

// Begin adds a line with the time at which a run begins.
func (h *History) Begin(at time.Time) { h.write(event{Began: at.UTC()}) }

// Add adds a record of the run, with the rule that disallowed its URL, or nil.
func (h *History) Add(r record.Record, rule *record.Rule) {
	r.Decision = nil
	h.write(event{Record: &r, Rule: rule})
}

func (h *History) write(e event) { h.err = cmp.Or(h.err, h.lines.Encode(e)) }

// Close closes the file. It also returns the first error of writing, if any.
func (h *History) Close() error { return errors.Join(h.err, h.file.Close()) }
