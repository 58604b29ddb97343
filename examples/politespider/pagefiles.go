package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/goodbots/courtesy/robotsmw"
)

// pageFiles keeps pages in a directory: each body in a file that is named by the URL's hash, and in index.jsonl a line on
// each. A page that is fetched again has another line, and the last one holds. Several processes may share the directory.
type pageFiles struct {
	dir string // "": nowhere
	all bool   // noindex, noarchive, and what cannot be asked, too

	mu    sync.Mutex
	index *os.File
}

// pageLine is a line of the index.
type pageLine struct {
	URL         string    `json:"url"`
	File        string    `json:"file"` // in the directory
	Fetched     time.Time `json:"fetched"`
	ContentType string    `json:"content_type,omitempty"`
	NoIndex     bool      `json:"noindex,omitempty"`
	NoArchive   bool      `json:"noarchive,omitempty"`
}

// open makes the directory.
func (f *pageFiles) open() (err error) {
	if f.dir == "" {
		return nil
	}
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return fmt.Errorf("-pages: %w", err)
	}
	f.index, err = os.OpenFile(filepath.Join(f.dir, "index.jsonl"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("-pages: %w", err)
	}
	return nil
}

func (f *pageFiles) close() error {
	if f.index == nil {
		return nil
	}
	return f.index.Close()
}

// keep keeps a page, if it may.
func (f *pageFiles) keep(v *visit) error {
	r := v.response
	if f == nil || f.index == nil || v.page.Sitemap || r.StatusCode < 200 || r.StatusCode > 299 {
		return nil
	}
	if !f.all && (v.noIndex || v.noArchive || v.said.Examined == robotsmw.PageNotExamined.String()) {
		return nil
	}
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(v.page.URL.String())))
	line := pageLine{
		URL:         v.page.URL.String(),
		File:        filepath.Join(hash[:2], hash[2:32]),
		Fetched:     time.Now().UTC().Truncate(time.Second),
		ContentType: r.Headers.Get("Content-Type"),
		NoIndex:     v.noIndex,
		NoArchive:   v.noArchive,
	}
	if err := writeWhole(filepath.Join(f.dir, line.File), r.Body); err != nil {
		return fmt.Errorf("keep a page: %w", err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(line); err != nil {
		return fmt.Errorf("keep a page: %w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.index.Write(b.Bytes()); err != nil { // at one stroke: others append, too
		return fmt.Errorf("keep a page: %w", err)
	}
	return nil
}

// writeWhole writes a file that others see whole or not at all.
func writeWhole(name string, data []byte) error {
	dir := filepath.Dir(name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, "tmp-")
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		os.Remove(file.Name())
	}
	return err
}
