package survey

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path"
	"runtime"
	"sync"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

// Command is the subcommand robotscheck survey.
var Command = command.Command{
	Name:  "survey",
	Usage: "[flags] DIR|LIST|ARCHIVE",
	Short: "what many robots.txt files have in common",
	Setup: func(flags *flag.FlagSet) command.Action {
		match := flags.String("match", "",
			"read only the files of a DIR or ARCHIVE whose path in it matches this `pattern`, such as 'robots/*.txt'")
		top := flags.Int("top", 20, "maximum number of robots to list")
		asJSON := flags.Bool("json", false, "print JSON, one object")
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			switch _, err := path.Match(*match, ""); {
			case len(args) != 1:
				return 0, command.Usagef("specify one directory, list or archive")
			case *top < 0:
				return 0, command.Usagef("-top %d: must be 0 or more", *top)
			case err != nil:
				return 0, command.Usagef("-match %q: %v", *match, err)
			}
			s := survey{stderr: e.Stderr, progress: cli.Progress{Terminal: cli.Terminal(e.Stderr)}}
			total, err := s.run(ctx, func(each visit) error { return eachFile(e, args[0], *match, each) })
			total.finish(*top)
			if total.Files > 0 {
				e.Print(total, *asJSON)
			}
			switch {
			case err != nil:
				return 0, err
			case s.failed > 0:
				return 0, fmt.Errorf("%s could not be read", cli.Count(s.failed, "file"))
			case total.Files == 0:
				return 0, fmt.Errorf("%s: no files found", command.DisplayName(args[0]))
			}
			return command.OK, nil
		}
	},
}

type survey struct {
	stderr   io.Writer
	progress cli.Progress
	failed   int // how many files could not be read
}

// run reads each file and gives it to a worker. It returns the tally of all
// files, and the error of eachFile.
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
	done, began := 0, time.Now()
	err := eachFile(func(text []byte, err error) error {
		if status, ok := errors.AsType[noFile](err); ok {
			total.Without[fmt.Sprintf("%dxx", status/100)]++
			return nil
		}
		if err != nil {
			s.failed++
			s.progress.Clear()
			fmt.Fprintf(s.stderr, "robotscheck survey: %s\n", command.Printable(err.Error())) // a file's name may have any bytes
			return nil
		}
		select {
		case files <- text:
		case <-ctx.Done():
			return ctx.Err()
		}
		done++
		s.progress.Show(func() string {
			return fmt.Sprintf("%s, %.0f a second", cli.Count(done, "file"), float64(done)/time.Since(began).Seconds())
		})
		return nil
	})
	close(files)
	workers.Wait()
	s.progress.Clear()
	return total, err
}
