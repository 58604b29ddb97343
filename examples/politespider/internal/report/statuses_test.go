package report

import (
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
)

func TestWrite_Statuses(t *testing.T) {
	statuses := map[int]int{200: 9_999, 204: 2, 301: 3, 404: 4, 410: 5, 403: 6, 429: 7, 503: 8, 500: 9}
	text := write(t, New("x", "Bot/1.0", time.Now(), time.Second), record.Summary{Statuses: statuses}).text()
	for _, want := range []string{
		"2xx fetched 10,001 200 OK: 9,999",
		"204 No Content: 2",
		"3xx moved 3 301",
		"4xx not found 9 404 Not Found: 4",
		"410 Gone: 5",
		"4xx refused 6 403",
		"4xx put off 7 ",
		"5xx put off 8 ",
		"5xx failed 9 ",
	} {
		if !strings.Contains(withoutSpaces(text), withoutSpaces(want)) {
			t.Errorf("report does not contain %q:\n%s", want, text)
		}
	}
}

// If pages were given up, the table of statuses describes a 503 as "put off, or
// at last given up", because the statuses are the same.
func TestWrite_StatusesOfGivenUpPages(t *testing.T) {
	s := record.Summary{GivenUp: 2, Statuses: map[int]int{503: 8}}
	text := write(t, New("x", "Bot/1.0", time.Now(), time.Second), s).text()
	if want := "put off, or at last given up"; !strings.Contains(text, want) {
		t.Errorf("report does not contain %q:\n%s", want, text)
	}
}
