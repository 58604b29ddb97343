package redislimit

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// rejectingEngine is a server that rejects all scripts.
type rejectingEngine struct{ message rejectionText }

type rejectionText string

func (r rejectionText) Error() string { return string(r) }
func (r rejectionText) RedisError()   {}

func (r rejectingEngine) run(context.Context, []any) ([]any, error) {
	return nil, r.message
}
func (r rejectingEngine) subscribe(context.Context, string, func(string)) error { return nil }

// If trying again cannot help, the error is returned at once, and is logged
// once.
func TestRejection_LoggedAndReturned(t *testing.T) {
	for message, want := range map[rejectionText]string{
		"ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'":             "too old",
		"NOPERM this user has no permissions to run the 'eval' command":                                    "lacks a permission",
		"ERR The user executing the script can't run this command or subcommand script: 400161":            "lacks a permission",
		"WRONGTYPE Operation against a key holding the wrong kind of value":                                "namespace",
		"ERR unknown command 'EVALSHA', with args beginning with: '1' '2' ":                                "'EVALSHA'",
		"ERR Unknown Redis command called from script script: 1, on @user_script:1.":                       "called from script",
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist on disk.": "unable to persist on disk",
		"READONLY You can't write against a read only replica.":                                            "read only replica",
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.":           "busy running a script",
	} {
		t.Run(want, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var logged bytes.Buffer
				f, err := newFleet(rejectingEngine{message}, "{test}", Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))})
				if err != nil {
					t.Fatal(err)
				}
				defer f.Close()
				l := &politeness.Limiter{Fleet: f}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				began := time.Now()
				_, err = l.Acquire(ctx, page(host))
				if err == nil || !strings.Contains(err.Error(), want) || time.Since(began) != 0 {
					t.Errorf("error %v after %v, want %q at once", err, time.Since(began), want)
				}
				time.Sleep(time.Minute)
				if n := strings.Count(logged.String(), want); n != 1 {
					t.Errorf("%q is logged %d times, want once: %s", want, n, &logged)
				}
				if text := logged.String(); !strings.Contains(text, "level=ERROR") || strings.Contains(text+err.Error(), "answer") {
					t.Errorf("the error is\n%v\nand the log is\n%s\nwant level=ERROR in the log, and %q in neither", err, text, "answer")
				}
			})
		})
	}
}
