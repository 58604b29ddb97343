package evidence

import (
	"cmp"
	crand "crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/evidence/internal/chain"
)

// Options say how much space a record may take, and which Logger gets warnings.
// The zero value suits most crawls.
type Options struct {
	// MaxBytes limits the size of all files of the record together. If a
	// further segment could make the record larger than MaxBytes, the oldest
	// segments are deleted. The lines of a request take about 1.2 KB. 0 means 4
	// GiB. A negative value means no limit.
	MaxBytes int64

	// SegmentBytes is the approximate size at which a segment or its WARC file
	// is full. Then the next segment begins. 0 means 64 MiB, or a quarter of
	// MaxBytes if that is less.
	SegmentBytes int64

	// Logger gets a warning when lines are lost or a file cannot be written.
	// Nil means slog.Default().
	Logger *slog.Logger
}

// A Recorder writes the record of one crawler into a directory. It is safe for
// concurrent use. No request ever waits for it. The package doc says what
// happens if the disk cannot keep up.
type Recorder struct {
	queue  queue
	writer writer
	lock   *os.File
	head   atomic.Pointer[chain.Link]

	mu       sync.Mutex
	robot    []any // the members of the robot line; nil before the first Observe
	limiters []*politeness.Limiter
}

// Open begins a session of the record in a directory. If the directory does not
// exist, Open creates it. If the directory has a record, Open continues the
// chain of that record. If the previous process died in the middle of a line,
// the new segment says where that line begins. Open returns an error if the
// options are wrong, if the directory cannot be used, or if another process
// writes a record there.
//
// Call Close at the end.
func Open(dir string, opts Options) (*Recorder, error) {
	return open(dir, opts, create)
}

func open(dir string, opts Options, create func(string) (file, error)) (*Recorder, error) {
	most := cmp.Or(opts.MaxBytes, 4<<30)
	segment := opts.SegmentBytes
	switch {
	case segment < 0:
		return nil, fmt.Errorf("evidence: Options.SegmentBytes is %d: give a size in bytes, or 0 for 64 MiB", segment)
	case segment == 0 && most < 0:
		segment = 64 << 20
	case segment == 0:
		segment = min(64<<20, most/4)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("evidence: cannot make the directory of the record: %w", err)
	}
	held, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("evidence: cannot lock the record: %w", err)
	}
	if err := lock(held); err != nil {
		held.Close()
		return nil, fmt.Errorf("evidence: another process writes the record in %s; give each its own directory: %w", dir, err)
	}
	var entropy [32]byte
	crand.Read(entropy[:])
	random := rand.NewChaCha8(entropy)
	r := &Recorder{lock: held}
	r.queue.idle.L = &r.queue.mu
	r.queue.most, r.queue.write = longestQueue, r.writer.write
	r.writer = writer{
		dir: dir, create: create, most: most, segment: segment, session: newUUID(random),
		logger: cmp.Or(opts.Logger, slog.Default()), forget: r.queue.forget,
		told: func(l chain.Link) { r.head.Store(&l) },
	}
	r.writer.warc.random = random
	if err := r.writer.resume(); err != nil {
		held.Close()
		return nil, fmt.Errorf("evidence: cannot read the record that is there: %w", err)
	}
	if !r.writer.open(time.Now()) {
		held.Close()
		return nil, fmt.Errorf("evidence: cannot begin the record: %s", r.writer.lost.cause)
	}
	return r, nil
}

// Observe adds observers to opts and to its Limiter. From then on, the Limiter
// is recorded, and so are the Transports and Checkers that are made from opts.
// If opts or the Limiter has observers already, these stay in use. Call Observe
// before NewTransport, NewClient, NewChecker or collyrobots.Attach.
//
// If the Limiter is in opts.Base and not in opts.Limiter, call Pace with that
// Limiter first. Observe returns an error if there is no Limiter, because
// requests could then not be recorded. It also returns an error if the options
// are invalid. A record is about one crawler. So it is an error, too, if opts
// and the options of an earlier call lead to different robot lines.
func (r *Recorder) Observe(opts *robotsmw.Options) error {
	if opts.Limiter == nil && len(r.attached()) == 0 {
		return errors.New("evidence: Options.Limiter is nil, so no request could be recorded: set it (new(politeness.Limiter) is a polite one), or call Pace with the Limiter that paces the Base")
	}
	robot, err := robotMembers(opts)
	if err != nil {
		return err
	}
	r.mu.Lock()
	known := r.robot
	if known == nil {
		r.robot = robot
	}
	r.mu.Unlock()
	switch {
	case known == nil:
		r.queue.put(newEntry("robot", robot...))
	case !reflect.DeepEqual(known, robot):
		return errors.New("evidence: the record is that of another crawler: its agent, tokens or options differ; give each a directory of its own")
	}
	if opts.Limiter != nil {
		r.Pace(opts.Limiter)
	}
	opts.Observer = robotsmw.Join(opts.Observer, robots(&r.queue))
	return nil
}

// Pace adds an observer to a Limiter, so that its requests are recorded. Call
// Pace before the first use of the Limiter. A second call for the same Limiter
// does nothing. Observe calls Pace for the Limiter of its options.
//
// Requests of a Transport are recorded with the decision that allowed them.
// Requests that a crawler sends without a Transport, after asking a Checker,
// are recorded without a decision. An audit of the record judges their URLs by
// the robots.txt that was in force.
func (r *Recorder) Pace(l *politeness.Limiter) {
	r.mu.Lock()
	if slices.Contains(r.limiters, l) {
		r.mu.Unlock()
		return
	}
	r.limiters = append(r.limiters, l)
	number := len(r.limiters)
	r.mu.Unlock()
	r.queue.put(limiterLine(number, l))
	l.Observer = politeness.Join(l.Observer, pace(&r.queue, number, delayOf(l)))
}

func (r *Recorder) attached() []*politeness.Limiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.limiters
}

// Head returns the number and the hash of the line that was written last, as in
// "17:9f86…". If you keep a copy elsewhere, you can prove later that neither
// this line nor any line before it was changed or taken away: an audit takes it
// as its flag -head.
func (r *Recorder) Head() string { return r.head.Load().String() }

// Close waits until everything is written, and ends the session. Later requests
// are not recorded. Close returns an error if lines were lost or if the end
// could not be written. Even after an error, the record can be used. A second
// call does nothing.
func (r *Recorder) Close() error {
	if !r.queue.close() {
		return nil
	}
	err := r.writer.close(time.Now())
	return errors.Join(err, r.lock.Close())
}

func robotMembers(opts *robotsmw.Options) ([]any, error) {
	plain := *opts
	plain.Observer = nil
	checker, err := robotsmw.NewChecker(plain)
	if err != nil {
		return nil, err
	}
	members := []any{"user_agent", opts.UserAgent, "tokens", checker.Tokens(), "disallow_forbidden", opts.DisallowForbidden,
		"allow_after_30_days", opts.AllowAfter30Days, "max_redirects", 5}
	if len(opts.Override) > 0 {
		hashes := make(map[string]string)
		for origin, text := range opts.Override {
			hashes[origin] = fmt.Sprintf("%x", sha256.Sum256([]byte(text)))
		}
		members = append(members, "override", hashes)
	}
	return members, nil
}

func limiterLine(number int, l *politeness.Limiter) entry {
	key := "host"
	if l.Key != nil {
		key = "custom"
	}
	const unlimited = -time.Second // -1 in the line
	return newEntry("limiter", "limiter", number, "delay", seconds(delayOf(l)), "concurrency", orDefault(l.Concurrency, 1, -1), "end_to_start", l.EndToStart,
		"max_crawl_delay", seconds(orDefault(l.MaxCrawlDelay, time.Minute, unlimited)), "clamp_crawl_delay", l.ClampCrawlDelay,
		"max_retry_after", seconds(orDefault(l.MaxRetryAfter, 24*time.Hour, unlimited)),
		"back_off", seconds(orDefault(l.BackOff, 5*time.Second, 0)), "max_back_off", seconds(orDefault(l.MaxBackOff, time.Hour, unlimited)),
		"lease", seconds(orDefault(l.Lease, 10*time.Minute, unlimited)), "jitter", time.Duration(l.Jitter*float64(time.Second)),
		"adaptive", l.Adaptive > 0, "key", key, "fleet", l.Fleet != nil)
}

func delayOf(l *politeness.Limiter) time.Duration { return orDefault(l.Delay, time.Second, 0) }

// orDefault returns v if it is positive, zero if v is 0, and negative if v is
// negative.
func orDefault[T int | time.Duration](v, zero, negative T) T {
	switch {
	case v == 0:
		return zero
	case v < 0:
		return negative
	}
	return v
}
