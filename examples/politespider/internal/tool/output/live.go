package output

import (
	"fmt"
	"time"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

// A livePrinter is a textPrinter for a terminal. Below the records, it shows a
// progress line.
type livePrinter struct{ *textPrinter }

const progressPeriod = 100 * time.Millisecond

// progressWidth is the maximum length of the progress line. A longer line might
// wrap, and then could not be erased.
const progressWidth = 77

func (p livePrinter) progress(soFar record.Summary, q frontier.State) {
	line := fmt.Sprintf("%d fetched", soFar.Fetched)
	if soFar.Fetched > 0 {
		line += fmt.Sprintf(" (%.1f/s)", float64(soFar.Fetched)/max(soFar.Seconds, 0.1))
	}
	line += fmt.Sprintf(", %d blocked, %d queued, %s waiting", soFar.Blocked, q.Queued+q.Out, record.Count(q.Hosts, "host"))
	if q.Next != "" {
		line += fmt.Sprintf("; %s in %s", q.Next, seconds(q.Wait.Seconds()))
	}
	if runes := []rune(line); len(runes) > progressWidth {
		line = string(runes[:progressWidth])
	}
	fmt.Fprintf(p.w, "%s  %s\r", cli.EraseLine, p.paint(dim, line))
}

func (p livePrinter) record(r record.Record) {
	fmt.Fprint(p.w, cli.EraseLine)
	p.textPrinter.record(r)
}

func (p livePrinter) summary(s record.Summary) {
	fmt.Fprint(p.w, cli.EraseLine)
	p.textPrinter.summary(s)
}
