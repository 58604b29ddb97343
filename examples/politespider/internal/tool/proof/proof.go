// Package proof keeps the record of a crawl (package evidence). It also finds
// the lines in the record that say why URLs were left alone.
package proof

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/report"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/evidence"
)

// A Record writes the evidence record of a crawl. A nil Record writes nothing.
type Record struct {
	dir      string
	recorder *evidence.Recorder
	end      func() // ends the hourly sentences
}

// Open begins or continues the record in a directory. If dir is "", it returns
// nil. Until the record is closed, say is called every hour with a sentence for
// the user. It has the place and the head of the record, which users should
// keep elsewhere.
func Open(dir string, logger *slog.Logger, say func(string)) (*Record, error) {
	if dir == "" {
		return nil, nil
	}
	recorder, err := evidence.Open(dir, evidence.Options{Logger: logger})
	if err != nil {
		return nil, fmt.Errorf("-evidence: %w", err)
	}
	ctx, end := context.WithCancel(context.Background())
	r := &Record{dir, recorder, end}
	go func() {
		hours := time.NewTicker(time.Hour)
		defer hours.Stop()
		for {
			select {
			case <-hours.C:
				say(r.head())
			case <-ctx.Done():
				return
			}
		}
	}()
	return r, nil
}

func (r *Record) head() string {
	return fmt.Sprintf("the record is in %s; its head is %s", r.dir, r.recorder.Head())
}

// Observe sets observers in opts. The observers record the crawl.
func (r *Record) Observe(opts *robotsmw.Options) error {
	if r == nil {
		return nil
	}
	return r.recorder.Observe(opts)
}

// Close ends the record. It returns a sentence for the user, as Open says. A
// second call does nothing more.
func (r *Record) Close() (says string, err error) {
	if r == nil {
		return "", nil
	}
	r.end()
	err = r.recorder.Close()
	return r.head(), err
}

// Refusals returns the proof for each URL that was left alone: the line of the
// record that says why. The argument is the path of the file that will link to
// these lines.
func (r *Record) Refusals(from string) (map[string]report.Proof, error) {
	if r == nil {
		return nil, nil
	}
	paths, err := filepath.Glob(filepath.Join(r.dir, "evidence-*.jsonl"))
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
		if err := read(path, func(n uint64, url string) { proofs[url] = report.Proof{File: href, Line: n} }); err != nil {
			return nil, fmt.Errorf("read the record: %w", err)
		}
	}
	return proofs, nil
}

func read(path string, found func(n uint64, url string)) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil // an incomplete line is not used
		} else if err != nil {
			return err
		}
		if !bytes.Contains(line[:min(len(line), 64)], []byte(`"event":"decision"`)) {
			continue
		}
		var refusal struct {
			N   uint64
			URL string
		}
		if err := json.Unmarshal(line, &refusal); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		found(refusal.N, refusal.URL)
	}
}
