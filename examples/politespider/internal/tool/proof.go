package tool

import (
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/report"
	"github.com/goodbots/courtesy/robotsmw/evidence"
)

// A proof is the evidence record of a crawl (package evidence).
type proof struct {
	*evidence.Recorder
	dir   string
	hours *time.Timer
}

// openProof begins or continues the record in a directory. If dir is "", it
// returns nil. Until the record is closed, say is called every hour with the
// record's head, which users should keep elsewhere.
func openProof(dir string, logger *slog.Logger, say func(string, ...any)) (*proof, error) {
	if dir == "" {
		return nil, nil
	}
	recorder, err := evidence.Open(dir, evidence.Options{Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("-evidence: %w", err)
	}
	p := &proof{Recorder: recorder, dir: dir}
	p.hours = time.AfterFunc(time.Hour, func() {
		p.sayHead(say)
		p.hours.Reset(time.Hour)
	})
	p.hours.Reset(time.Hour) // only after p.hours is set, which the function uses
	return p, nil
}

func (p *proof) sayHead(say func(string, ...any)) {
	say("the evidence record is in %s; its head is %s", p.dir, p.Head())
}

// close ends the record, and returns the proof for each URL that was left
// alone: the line of the record with the reason. The file from will link to
// these lines.
func (p *proof) close(from string) (map[string]report.Proof, error) {
	p.hours.Stop()
	if err := p.Close(); err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(p.dir, "evidence-*.jsonl"))
	if err != nil {
		return nil, err
	}
	proofs := make(map[string]report.Proof)
	for _, path := range paths {
		link, err := filepath.Rel(filepath.Dir(from), path)
		if err != nil {
			link = path
		}
		href := (&url.URL{Path: filepath.ToSlash(link)}).String()
		if err := readRefusals(path, href, proofs); err != nil {
			return nil, fmt.Errorf("read the record: %w", err)
		}
	}
	return proofs, nil
}

// readRefusals adds the proofs in the file at path, to which href leads.
func readRefusals(path, href string, proofs map[string]report.Proof) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	type line struct {
		N          uint64
		Event, URL string
	}
	_, err = frontier.ReadLines(f, func(l line) error {
		if l.Event == "decision" {
			proofs[l.URL] = report.Proof{File: href, Line: l.N}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
