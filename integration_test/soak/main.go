// Soak runs a crawler against hostile hosts for a long time, and compares its
// memory with the configured bounds:
//
//	go run ./integration_test/soak -for 30m
//
// The hosts send robots.txt files and pages that are meant to exhaust memory:
// bodies that never end, headers of 500 KB, files of the maximum size,
// compressed bodies that expand, redirects from host to host. The Store returns
// garbage, fails and blocks. The workers have short deadlines, and most hosts
// are new. Soak prints the size of the heap at intervals, and fails if it ever
// exceeds twice the bounds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/diskstore"
	"github.com/goodbots/courtesy/robotsmw/evidence"
	"github.com/goodbots/courtesy/robotsmw/revisit"
)

// The bounds of the crawler's memory.
const (
	robotsBytes  = 16 << 20 // Options.MaxBytes
	revisitBytes = 8 << 20  // revisit.Transport.MaxBytes
	maxHosts     = 5000     // Limiter.MaxHosts
	hostBytes    = 1 << 10  // approximate size of a host in a Limiter
	recordBytes  = 32 << 20 // two batches of lines in the evidence.Recorder

	bounds = robotsBytes + revisitBytes + maxHosts*hostBytes + recordBytes
)

const (
	workers = 16
	maxBody = 1 << 20 // maximum number of bytes of a page that a worker reads
)

func main() {
	duration := flag.Duration("for", 30*time.Minute, "how long the crawl lasts")
	flag.Parse()
	slog.SetDefault(slog.New(slog.DiscardHandler))
	dir, err := os.MkdirTemp("", "soak")
	if err == nil {
		err = soak(os.Stdout, dir, *duration)
		os.RemoveAll(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(1)
	}
}

// A crawl is a crawler, with all its parts that use memory.
type crawl struct {
	web      *hostileWeb
	limiter  *politeness.Limiter
	robots   *robotsmw.Transport
	client   *http.Client
	recorder *evidence.Recorder

	requests, answers atomic.Int64

	// Each visit holds visits for reading. The heap is measured while no visit
	// is in progress, because memory that is allocated during a garbage
	// collection counts as in use. Fetches of robots.txt continue meanwhile.
	visits sync.RWMutex
}

func newCrawl(dir string) (*crawl, error) {
	disk, err := diskstore.Open(filepath.Join(dir, "store"))
	if err != nil {
		return nil, err
	}
	disk.MaxBytes = 64 << 20
	c := &crawl{web: new(hostileWeb)}
	c.limiter = &politeness.Limiter{Delay: 10 * time.Millisecond, MaxHosts: maxHosts}
	opts := robotsmw.Options{
		UserAgent: "SoakBot/1.0", Base: c.web, Limiter: c.limiter, Store: &hostileStore{disk},
		MaxOrigins: maxHosts, MaxBytes: robotsBytes, AttemptTimeout: 10 * time.Second,
	}
	c.recorder, err = evidence.Open(filepath.Join(dir, "record"), evidence.Options{MaxBytes: 256 << 20})
	if err != nil {
		return nil, err
	}
	if err := c.recorder.Observe(&opts); err != nil {
		return nil, err
	}
	if c.robots, err = robotsmw.NewTransport(opts); err != nil {
		return nil, err
	}
	c.client = &http.Client{Transport: &revisit.Transport{Base: c.robots, MaxBytes: revisitBytes, MinFresh: time.Second}}
	return c, nil
}

// errMemory is the error of a crawl whose memory exceeded twice the bounds.
var errMemory = errors.New("the heap was more than twice the bounds")

// soak crawls for a time, with its files in dir. It writes the figures to out.
// It returns errMemory if the memory exceeds twice the bounds.
func soak(out io.Writer, dir string, duration time.Duration) error {
	before := testmain.Heap()
	c, err := newCrawl(dir)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "bounds: %s\n", mib(bounds))
	ctx, cancel := context.WithTimeout(context.Background(), duration)
	defer cancel()
	var running sync.WaitGroup
	for worker := range workers {
		running.Go(func() { c.work(ctx, worker) })
	}
	var most int64
	start := time.Now()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-time.After(max(duration/60, time.Second)):
		}
		heap := c.heap() - before
		most = max(most, heap)
		fmt.Fprintf(out, "%6.0fs: heap %s, %s\n", time.Since(start).Seconds(), mib(heap), c.state())
	}
	running.Wait()
	c.recorder.Close() // an error is ignored: the disk may be too slow for the record
	fmt.Fprintf(out, "the heap was at most %s, %.2f times the bounds\n", mib(most), float64(most)/bounds)
	if most > 2*bounds {
		return errMemory
	}
	return nil
}

// work visits pages until ctx ends.
func (c *crawl) work(ctx context.Context, worker int) {
	rng := rand.New(rand.NewPCG(uint64(worker), 1))
	for ctx.Err() == nil {
		c.visits.RLock()
		c.visit(ctx, rng)
		c.visits.RUnlock()
	}
}

// heap returns the size of the heap while no visit is under way.
func (c *crawl) heap() int64 {
	c.visits.Lock()
	defer c.visits.Unlock()
	return testmain.Heap()
}

// state describes the current memory use of the crawl, and counts its requests.
func (c *crawl) state() string {
	s := c.robots.Checker().Stats()
	return fmt.Sprintf("robots.txt %s of %d origins, %d hosts in the Limiter, %d goroutines, %d requests, %d responses, %d bodies open",
		mib(s.Bytes), s.Origins, c.limiter.Stats().Hosts, runtime.NumGoroutine(),
		c.requests.Load(), c.answers.Load(), c.web.open.Load())
}

// visit requests one page, and reads the part of it that arrives within 100 ms.
func (c *crawl) visit(ctx context.Context, rng *rand.Rand) {
	defer func() { recover() }() // some responses cause a panic
	ctx, cancel := context.WithTimeout(ctx, time.Duration(1+rng.IntN(100))*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, "GET", c.web.url(rng), nil)
	if err != nil {
		panic(err)
	}
	c.requests.Add(1)
	resp, err := c.client.Do(req)
	if err != nil {
		return
	}
	c.answers.Add(1)
	defer resp.Body.Close()
	io.Copy(io.Discard, io.LimitReader(resp.Body, maxBody))
	robotsmw.PageDirectives(resp)
}

func mib(bytes int64) string { return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20)) }
