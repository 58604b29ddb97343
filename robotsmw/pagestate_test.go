package robotsmw

import (
	"testing"

	"github.com/goodbots/courtesy/robotsmw/internal/page"
)

// PageState is declared twice with its constants, here and in an internal
// package. The code converts between them by value, so the constants must have
// the same values on both sides.
func TestPageState_MatchesInternalConstants(t *testing.T) {
	for inside, outside := range map[page.State]PageState{
		page.NotExamined: PageNotExamined, page.HeaderOnly: PageHeaderOnly, page.Pending: PagePending,
		page.Partial: PagePartial, page.Complete: PageComplete,
	} {
		if PageState(inside) != outside {
			t.Errorf("PageState(%d) = %v, want %v", inside, PageState(inside), outside)
		}
	}
	if last := page.Complete + 1; PageState(last).String() != PageNotExamined.String() {
		t.Errorf("a state beyond the last is %q, want %q", PageState(last), PageNotExamined)
	}
}
