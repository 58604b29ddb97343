// Package model checks the fleet's protocol with the model checker Spin
// (https://spinroot.com). fleet.pml and latestate.pml describe the protocol in
// Spin's language: the first one describes who owns a host, and the second one
// how members exchange pauses.
// The tests also check that each rule of the protocol is necessary: without the
// rule, a property must break.
package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// assertions are gcc's options to check assertions alone. Spin's way of leaving
// out equivalent orders of steps finds none in this model, and its states are
// too small to be worth compressing.
const assertions = "-DSAFETY -DNOREDUCE -DNOCOMP"

// Each property has the options with which spin, gcc and pan check it.
// fleet.pml explains the properties.
var (
	// The variable safety combines the properties that fleet.pml calls "pace"
	// and "owners". The calls of one member may be slow, and the engine (Redis)
	// may lose its state once.
	safety = property{spin: "", gcc: assertions}
	// safetyBothSlow is like safety, but the calls of both members may be slow,
	// and the engine never loses its state.
	safetyBothSlow = property{spin: "-DLosses=0 -DSlow=2", gcc: assertions}
	// The property served allows one fault. A member may be killed or stopped,
	// or a call or its reply may be lost.
	served = property{spin: "-DLIVE -DLosses=0 -DSteps=0", gcc: "-DNFAIR=3", pan: "-a -f"}
	// servedAfterLoss allows no fault, but the engine may lose its state once.
	servedAfterLoss = property{spin: "-DLIVE -DFaults=0 -DSteps=0", gcc: "-DNFAIR=3", pan: "-a -f"}
	// This property allows the same faults as "served" above.
	silence = property{spin: "-DLIVE -DSILENCE -DLosses=0 -DSteps=0", gcc: assertions}
	// safetyAgain is like safety, but a member may change its mind: it may stop
	// wanting the host, or want the host again while giving it away.
	// servedAgain is like served, but a member stops wanting the host once.
	safetyAgain = property{spin: "-DAGAIN -DSteps=0", gcc: assertions}
	servedAgain = property{spin: "-DLIVE -DLosses=0 -DSteps=0 -DAGAIN", gcc: "-DNFAIR=3", pan: "-a -f"}
)

type property struct {
	spin, gcc, pan string
	file           string // the model; "" means fleet.pml
}

func TestFleet(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		property
	}{
		{"safety", safety},
		{"safety, both slow", safetyBothSlow},
		{"served", served},
		{"served after a loss", servedAfterLoss},
		{"silence", silence},
		{"safety, a changed mind", safetyAgain},
		{"served, a changed mind", servedAgain},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := search(t, tt.property, ""); got.errors != 0 {
				t.Errorf("the model checker found an error of the protocol: %s; the steps to it are\n%s", got.broken, got.trail)
			}
		})
	}
}

// TestFleetMutants removes one rule at a time from the protocol. Each row has
// the name of such a mutant, and the property that the mutant must break.
func TestFleetMutants(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		property
	}{
		{"NO_COMPARE", safety},
		{"NO_EPOCH_WAIT", safety},
		{"NO_REST_AFTER_EPOCH", safety},
		{"NO_REST_AFTER_DEAD", safety},
		{"TRUST_FROM_ANSWER", safety},
		{"TRUST_FROM_JOIN", safety},
		{"WATCH_FROM_SENDING", safety},
		{"CLOCK_UNBOUNDED", safety},
		{"START_AFTER_LEASE", safety},
		{"TOKEN_WITHOUT_EPOCH", safety},
		{"ENTER_UNSURE", safety},
		{"LATE_ENTER", safety},
		{"FORGET_START", safety},
		{"LATE_CALL", safetyAgain},
		{"NO_REST_AFTER_DROP", safetyAgain},
		{"FORGETFUL", served},
		{"FIRST_IN_LIST", served},
		{"ANY_WAITER", served},
		{"FORGET_GIVE", servedAgain},
		{"GIVE_WITHOUT_ACCEPT", silence},
		{"ALL_CUT_OFF", safety}, // not a removed rule, but a failure that no rule could prevent
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := search(t, tt.property, tt.name)
			if got.errors == 0 {
				t.Errorf("the model checker found no error in the mutant %s, want one", tt.name)
			}
		})
	}
}

type result struct {
	errors int
	broken string // Spin's description of the first error
	trail  string // the steps that lead to the first error
}

// search compiles the model, runs it, and logs the time and the result. For a
// mutant it searches only short histories, of at most 600 steps.
func search(t *testing.T, p property, mutant string) result {
	t.Helper()
	for _, tool := range []string{"spin", "gcc"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("SKIPPED: the model is not checked: install %s (Debian's package has that name): %v", tool, err)
		}
	}
	dir := t.TempDir()
	file := cmp.Or(p.file, "fleet.pml")
	model, err := os.ReadFile(file) // the test itself reads the file, so go test's cache notices a change
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, file), model, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	if deadline, ok := t.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-10*time.Second))
		defer cancel()
	}
	run := func(name string, args ...string) string {
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Skip("SKIPPED: on this busy machine, the search takes longer than the -timeout of go test: run go test -timeout 1h ./integration_test/model")
		}
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	switches, depth := strings.Fields(p.spin), "-m1000000"
	if mutant != "" {
		switches, depth = append(switches, "-D"+mutant), "-m600"
	}

	began := time.Now()
	run("spin", slices.Concat([]string{"-a"}, switches, []string{file})...)
	// For most searches, compiling with -O2 would cost more time than it saves.
	run("gcc", slices.Concat([]string{"-Og", "-w", "-DVECTORSZ=512", "-DMEMLIM=3000", "-o", "pan", "pan.c"}, strings.Fields(p.gcc))...)
	built := time.Now()
	report := run("./pan", append(strings.Fields(p.pan), depth, "-w22")...)
	took := time.Since(built)

	var got result
	var states int
	number(t, report, `errors: (\d+)`, &got.errors)
	number(t, report, `(\d+) states, stored`, &states)
	t.Logf("%9d states, %5.1f s to search, %4.1f s to build: %s", states, took.Seconds(), built.Sub(began).Seconds(), verdict(report))
	if mutant != "" {
		return got
	}
	if got.errors != 0 {
		got.broken = verdict(report)
		if _, err := os.Stat(filepath.Join(dir, file+".trail")); err == nil {
			got.trail = run("spin", slices.Concat([]string{"-t", "-T"}, switches, []string{file})...)
		}
		return got
	}
	// A search without errors proves something only if it examined every state.
	for _, cut := range []string{"max search depth too small", "Search not completed", "out of memory", "memory limit"} {
		if strings.Contains(report, cut) {
			t.Fatalf("the search was cut short:\n%s", report)
		}
	}
	return got
}

var firstError = regexp.MustCompile(`(?m)^pan:1: (.*?)(?: \(at depth \d+\))?$`)

func verdict(report string) string {
	if m := firstError.FindStringSubmatch(report); m != nil {
		return m[1]
	}
	return "no error"
}

func number(t *testing.T, report, pattern string, n *int) {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(report)
	if m == nil {
		t.Fatalf("the report does not contain %q:\n%s", pattern, report)
	}
	if _, err := fmt.Sscan(m[1], n); err != nil {
		t.Fatal(err)
	}
}
