package model

import "testing"

// lateStates has both properties that latestate.pml explains. A member's
// session may end at any time, and the reply to any call may be lost.
var lateStates = property{file: "latestate.pml", gcc: assertions}

func TestLateStates(t *testing.T) {
	t.Parallel()
	if got := search(t, lateStates, ""); got.errors != 0 {
		t.Errorf("the model checker found an error of the protocol: %s; the steps to it are\n%s", got.broken, got.trail)
	}
}

// TestLateStatesMutants removes one rule at a time from the protocol, and
// expects that a property breaks each time.
func TestLateStatesMutants(t *testing.T) {
	t.Parallel()
	for _, mutant := range []string{
		"LATE_REPLACES",
		"LATE_REMOVED",
		"LATE_IGNORED",
		"LATE_NOT_IMPORTED",
		"OWNED_WITHOUT_STORE",
		"LOSE_WITHOUT_REPORT",
		"GIVE_WITHOUT_TOKEN",
	} {
		t.Run(mutant, func(t *testing.T) {
			t.Parallel()
			got := search(t, lateStates, mutant)
			if got.errors == 0 {
				t.Errorf("the model checker found no error in the mutant %s, want one", mutant)
			}
		})
	}
}
