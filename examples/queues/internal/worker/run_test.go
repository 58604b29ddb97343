package worker

import (
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// validSettings returns settings of a queue that has parts.
func validSettings() Settings {
	return Settings{
		Agent:       "TestBot",
		Concurrency: 1,
		Workers:     3,
		Delay:       time.Second,
		Retry:       Retry{Failures: 1, Wait: time.Minute},
		hasParts:    true,
	}
}

// An invalid value is reported before the command starts. Otherwise, -workers 0
// would end the program with a panic, and -at-once 0 would make a worker wait
// forever.
func TestSettings_Invalid(t *testing.T) {
	for want, change := range map[string]func(*Settings){
		"-at-once 0":         func(s *Settings) { s.Concurrency = 0 },
		"-delay 0s":          func(s *Settings) { s.Delay = 0 },
		"-delay -1s":         func(s *Settings) { s.Delay = -time.Second },
		"-start-delay -1s":   func(s *Settings) { s.StartDelay = -time.Second },
		"-failures 0":        func(s *Settings) { s.Retry.Failures = 0 },
		"-retry 0s":          func(s *Settings) { s.Retry.Wait = 0 },
		"-workers 0":         func(s *Settings) { s.Workers = 0 },
		"-part 3":            func(s *Settings) { s.Part = 3 },
		"-part -1":           func(s *Settings) { s.Part = -1 },
		`-user-agent "colly`: func(s *Settings) { s.Agent = "colly" },
	} {
		s := validSettings()
		change(&s)
		if err := s.check(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("check returned %v, want an error that begins with %q", err, want)
		}
	}
}

func TestSettings_Valid(t *testing.T) {
	withParts := validSettings()
	withoutParts := validSettings()
	withoutParts.hasParts = false
	withoutParts.Workers = 0
	for name, s := range map[string]Settings{
		"a queue with parts":    withParts,
		"a queue without parts": withoutParts,
	} {
		if err := s.check(); err != nil {
			t.Errorf("%s: check returned %v, want no error", name, err)
		}
	}
}

func TestDefaults_Delay(t *testing.T) {
	var s Settings
	s.Flags(true, time.Second)
	if got := flag.Lookup("delay").DefValue; got != politeness.DefaultDelay.String() {
		t.Errorf("default of -delay is %s, want %v", got, politeness.DefaultDelay)
	}
	if err := s.check(); err != nil {
		t.Errorf("check of the default settings returned %v, want no error", err)
	}
}
