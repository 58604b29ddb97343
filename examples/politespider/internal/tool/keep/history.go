package keep

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// A History is a file of JSON lines with the records of a crawl. Before the
// records of each run, a line says when the run began. A History is safe for
// concurrent use.
type History struct {
	file *os.File

	mu    sync.Mutex
	known map[string]bool // hashes of the robots.txt files whose lines this run has added to the History
	err   error
}

// An event is a line of the file.
type event struct {
	Began time.Time `json:"began,omitzero"` // when a run began; zero if the line is a record
	*record.Record
	Rule *record.Rule `json:"rule,omitempty"` // the line has this in place of Record.Decision
}

// openHistory opens the history in dir. If a killed process left an incomplete
// line at the end, openHistory cuts it off.
func openHistory(dir string) (*History, error) {
	file, err := os.OpenFile(filepath.Join(dir, "records.jsonl"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	h := &History{file: file, known: make(map[string]bool)}
	if err := h.cut(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return h, nil
}

func (h *History) cut() error {
	info, err := h.file.Stat()
	if err != nil {
		return err
	}
	end := info.Size()
	for block := make([]byte, 1<<16); end > 0; {
		from := max(end-int64(len(block)), 0)
		b := block[:end-from]
		if _, err := h.file.ReadAt(b, from); err != nil {
			return err
		}
		if n := bytes.LastIndexByte(b, '\n'); n >= 0 {
			end = from + int64(n) + 1
			break
		}
		end = from
	}
	return h.file.Truncate(end)
}

// Past calls add() with each record of the earlier runs, and with the time at
// which the record's run began. Call Past before Begin.
func (h *History) Past(add func(began time.Time, r record.Record, rule *record.Rule)) error {
	in := bufio.NewReader(io.NewSectionReader(h.file, 0, 1<<62))
	var began time.Time
	for {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read what happened before: %w", err)
		}
		e := event{Record: new(record.Record)}
		if err := json.Unmarshal(text, &e); err != nil {
			return fmt.Errorf("read what happened before: %w", err)
		}
		if !e.Began.IsZero() {
			began = e.Began
		} else {
			add(began, *e.Record, e.Rule)
		}
	}
}

// Begin adds a line with the time at which a run begins.
func (h *History) Begin(at time.Time) { h.write(event{Began: at.UTC()}) }

// Add adds a record of the run.
func (h *History) Add(r record.Record) {
	rule := record.RuleOf(r)
	if rule != nil {
		h.mu.Lock()
		if !h.known[rule.SHA256] {
			h.known[rule.SHA256] = true
			rule.Lines = record.LinesOf(r)
		}
		h.mu.Unlock()
	}
	r.Decision = nil
	h.write(event{Record: &r, Rule: rule})
}

func (h *History) write(e event) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(e)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil && h.err == nil {
		_, err = h.file.Write(b.Bytes())
	}
	if h.err == nil {
		h.err = err
	}
}

// Close closes the file. It also returns the first error of writing, if any.
func (h *History) Close() error { return errors.Join(h.err, h.file.Close()) }
