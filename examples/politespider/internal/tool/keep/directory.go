package keep

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/diskstore"
)

// Open opens a crawl that only this process works on. Its state is in the
// directory dir or, if dir is "", in memory alone.
func Open(dir string, opts Options) (*Kept, error) {
	if dir == "" {
		return &Kept{Queue: frontier.NewQueue(opts.Limits), Disconnect: func() {}}, nil
	}
	store, err := diskstore.Open(filepath.Join(dir, "robots"))
	if err != nil {
		return nil, fmt.Errorf("-resume %s: %w", dir, err)
	}
	q, err := frontier.OpenDirectory(dir, opts.About, opts.Limits, opts.Delay, opts.Logger)
	if err != nil {
		return nil, fmt.Errorf("-resume %s: %w", dir, err)
	}
	history, err := openHistory(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("-resume %s: %w", dir, err), q.Close())
	}
	return &Kept{
		Queue:   queueWithHistory{q, history},
		History: history,
		// Hide the locks of the Store. Only this process uses the directory,
		// and a process that was killed may have left locks there.
		Store:      struct{ robotsmw.Store }{store},
		Disconnect: func() {},
		GoOn:       "to resume the crawl: politespider -resume " + shellWord(dir),
		Complete:   "the crawl in " + dir + " is complete; to crawl again, name another directory",
	}, nil
}

// A queueWithHistory is the Queue of a crawl. Its Close also closes the crawl's
// History.
type queueWithHistory struct {
	Queue
	history *History
}

func (q queueWithHistory) Close() error {
	return errors.Join(q.Queue.Close(), q.history.Close())
}

// shellWord quotes a word, if necessary, so that it can be pasted into a shell.
func shellWord(s string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-"
	if s != "" && strings.Trim(s, safe) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
