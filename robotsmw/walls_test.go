package robotsmw

import (
	"testing"

	"github.com/goodbots/courtesy/robotsmw/internal/load"
	"github.com/goodbots/courtesy/robotsmw/internal/page"
)

// Lookup and PageState are declared twice with their constants, here and in
// internal packages. The code converts between them by value, so the constants
// must have the same values on both sides.
func TestListsOnBothSidesOfAWallAgree(t *testing.T) {
	for inside, outside := range map[load.Lookup]Lookup{
		load.Hit: LookupHit, load.Stale: LookupStale, load.Miss: LookupMiss, load.Joined: LookupJoined,
	} {
		if Lookup(inside) != outside {
			t.Errorf("the lookup %q is told as %q", inside, outside)
		}
	}
	for inside, outside := range map[page.State]PageState{
		page.NotExamined: PageNotExamined, page.HeaderOnly: PageHeaderOnly, page.Pending: PagePending,
		page.Partial: PagePartial, page.Complete: PageComplete,
	} {
		if PageState(inside) != outside {
			t.Errorf("the state %d is told as %v", inside, outside)
		}
	}
	if last := page.Complete + 1; PageState(last).String() != PageNotExamined.String() {
		t.Errorf("a state beyond the last is %q", PageState(last))
	}
}
