package worker

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// These values were noticed only when a page was put, or never: -workers 0
// ended the program with a panic, and -at-once 0 made a worker wait for ever.
func TestSettings_WrongFlag(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		"-at-once 0":         func(s *Settings) { s.Concurrency = 0 },
		"-delay 0s":          func(s *Settings) { s.Delay = 0 },
		"-delay -1s":         func(s *Settings) { s.Delay = -time.Second },
		"-rest -1s":          func(s *Settings) { s.StartDelay = -time.Second },
		"-failures 0":        func(s *Settings) { s.Retry.Failures = 0 },
		"-retry 0s":          func(s *Settings) { s.Retry.Wait = 0 },
		"-workers 0":         func(s *Settings) { s.Workers = 0 },
		"-part 3":            func(s *Settings) { s.Part = 3 },
		"-part -1":           func(s *Settings) { s.Part = -1 },
		`-user-agent "colly`: func(s *Settings) { s.Agent = "colly" },
	} {
		s := Settings{Agent: "TestBot", Concurrency: 1, Workers: 3, Delay: time.Second, Retry: Retry{Failures: 1, Wait: time.Minute}, hasParts: true}
		if err := s.check(); err != nil {
			t.Fatal(err)
		}
		change(&s)
		if err := s.check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	withoutParts := Settings{Agent: "TestBot", Concurrency: 1, Delay: time.Second, Retry: Retry{Failures: 1, Wait: time.Minute}}
	if err := withoutParts.check(); err != nil {
		t.Error(err)
	}
}

func TestDefaults_Delay(t *testing.T) {
	var s Settings
	s.Flags(true, time.Second)
	if got := flag.Lookup("delay").DefValue; got != politeness.DefaultDelay.String() {
		t.Errorf("-delay is %s, want %v", got, politeness.DefaultDelay)
	}
	if err := s.check(); err != nil {
		t.Errorf("without flags: %v", err)
	}
}
