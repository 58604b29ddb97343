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
		pattern := flags.String("match", "",
			"read only the files of a DIR or ARCHIVE whose path in it matches this `pattern`, "+
				"such as 'robots/*.txt'")
		top := flags.Int("top", 20, "maximum number of robots to list")
		asJSON := flags.Bool("json", false, "print JSON, one object")
		return func(ctx context.Context, e command.Env, args []string) (command.Status, error) {
			if len(args) != 1 {
				return 0, command.Usagef("specify one directory, list or archive")
			}
			if *top < 0 {
				return 0, command.Usagef("-top %d: must be 0 or more", *top)
			}
			if _, err := path.Match(*pattern, ""); err != nil {
				return 0, command.Usagef("-match %q: %v", *pattern, err)
			}
			s := newSurvey(e)
			err := s.run(ctx, func(f visitFunc) error { return eachFile(e, args[0], *pattern, f) })
			s.tally.finish(*top)
			if s.tally.Files > 0 {
				e.Print(s.tally, *asJSON)
			}
			switch {
			case err != nil:
				return 0, err
			case s.failures > 0:
				return 0, fmt.Errorf("%s could not be read", cli.Count(s.failures, "file"))
			case s.tally.Files == 0:
				return 0, fmt.Errorf("%s: no files found", command.DisplayName(args[0]))
			}
			return command.OK, nil
		}
	},
}

type survey struct {
	stderr   io.Writer
	progress cli.Progress
	tally    *tally
	failures int // number of files that could not be read
}

func newSurvey(e command.Env) *survey {
	return &survey{
		stderr:   e.Stderr,
		progress: cli.Progress{Terminal: cli.Terminal(e.Stderr)},
		tally:    newTally(),
	}
}

// run examines the files that eachFile passes to its argument, in parallel, and
// adds them to the tally. It returns the error of eachFile.
func (s *survey) run(ctx context.Context, eachFile func(visitFunc) error) error {
	files := make(chan []byte)
	var mu sync.Mutex // protects s.tally.add
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for text := range files {
				f := examine(text)
				mu.Lock()
				s.tally.add(f)
				mu.Unlock()
			}
		})
	}
	n := 0
	start := time.Now()
	err := eachFile(func(text []byte, err error) error {
		if status, ok := errors.AsType[noFileError](err); ok {
			s.tally.Without[fmt.Sprintf("%dxx", status/100)]++
			return nil
		}
		if err != nil {
			s.addFailure(err)
			return nil
		}
		select {
		case files <- text:
		case <-ctx.Done():
			return ctx.Err()
		}
		n++
		s.progress.Show(func() string {
			rate := float64(n) / time.Since(start).Seconds()
			return fmt.Sprintf("%s, %.0f a second", cli.Count(n, "file"), rate)
		})
		return nil
	})
	close(files)
	workers.Wait()
	s.progress.Clear()
	return err
}

// addFailure reports a file that could not be read.
func (s *survey) addFailure(err error) {
	s.failures++
	s.progress.Clear()
	text := command.Printable(err.Error()) // file names may contain any bytes
	fmt.Fprintf(s.stderr, "robotscheck survey: %s\n", text)
}
