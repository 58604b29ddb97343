package survey

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

type survey struct {
	stderr io.Writer
	live   bool // whether stderr is a terminal
	failed int  // how many files could not be read
}

// run reads each file and gives it to a worker. It returns the tally of all
// files.
func (s *survey) run(ctx context.Context, eachFile func(visit) error) (*tally, error) {
	files := make(chan []byte)
	total := newTally()
	var mu sync.Mutex // for total
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for text := range files {
				f := examine(text)
				mu.Lock()
				total.add(f)
				mu.Unlock()
			}
		})
	}
	done, began, shown := 0, time.Now(), time.Time{}
	err := eachFile(func(text []byte, err error) error {
		if status, ok := errors.AsType[noFile](err); ok {
			total.Without[fmt.Sprintf("%dxx", status/100)]++
			return nil
		}
		if err != nil {
			s.failed++
			fmt.Fprintf(s.stderr, "robotscheck survey: %s\n", command.Printable(err.Error())) // a file's name may have any bytes
			return nil
		}
		select {
		case files <- text:
		case <-ctx.Done():
			return ctx.Err()
		}
		if done++; s.live && time.Since(shown) > 100*time.Millisecond {
			shown = time.Now()
			fmt.Fprintf(s.stderr, "%s  %s, %.0f a second\r", cli.EraseLine, command.Count(done, "file"), float64(done)/time.Since(began).Seconds())
		}
		return nil
	})
	close(files)
	workers.Wait()
	if s.live {
		fmt.Fprint(s.stderr, cli.EraseLine)
	}
	if err != nil {
		return nil, err
	}
	return total, nil
}
