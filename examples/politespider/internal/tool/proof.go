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
	dir    string
	hourly *time.Timer // prints the head
}

// openProof begins or continues the record in a directory. If dir is "", it
// returns nil. Until the record is closed, the record's head is printed every
// hour, so that users can keep it elsewhere.
func openProof(dir string, logger *slog.Logger, printf func(string, ...any)) (*proof, error) {
	if dir == "" {
		return nil, nil
	}
	recorder, err := evidence.Open(dir, evidence.Options{Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("-evidence: %w", err)
	}
	p := &proof{Recorder: recorder, dir: dir}
	p.hourly = time.AfterFunc(time.Hour, func() {
		p.printHead(printf)
		p.hourly.Reset(time.Hour)
	})
	p.hourly.Reset(time.Hour) // only after p.hourly is set, which the function uses
	return p, nil
}

func (p *proof) printHead(printf func(string, ...any)) {
	printf("the evidence record is in %s; its head is %s", p.dir, p.Head())
}

// close closes the record, and returns the proof for each URL that was not
// requested: the line of the record with the reason. The links in the proofs
// are relative to the file linkingFile.
func (p *proof) close(linkingFile string) (map[string]report.Proof, error) {
	p.hourly.Stop()
	if err := p.Close(); err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(p.dir, "evidence-*.jsonl"))
	if err != nil {
		return nil, err
	}
	proofs := make(map[string]report.Proof)
	for _, path := range paths {
		link, err := filepath.Rel(filepath.Dir(linkingFile), path)
		if err != nil {
			link = path
		}
		href := (&url.URL{Path: filepath.ToSlash(link)}).String()
		if err := readDecisions(path, href, proofs); err != nil {
			return nil, fmt.Errorf("read the evidence record: %w", err)
		}
	}
	return proofs, nil
}

// readDecisions adds a proof for each decision in the file at path. The proofs
// link to href, which leads to that file.
func readDecisions(path, href string, proofs map[string]report.Proof) error {
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
