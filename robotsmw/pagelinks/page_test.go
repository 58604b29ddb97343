package pagelinks_test

import (
	"fmt"
	"net/url"
	"testing"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

func TestFromHTML(t *testing.T) {
	u, _ := url.Parse("https://example.com/a/")
	html := []byte(`<a href=b>b</a> <a rel=nofollow href=/c>c</a>`)
	for content, want := range map[string]string{
		"":         "[https://example.com/a/b]",
		"nofollow": "[]",
	} {
		page, err := pagelinks.FromHTML(
			t.Context(),
			html,
			u,
			robotsmw.Page{Directives: robotsmeta.ParseContent(content)},
			nil,
		)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(page.Queue()); got != want || len(page.Links) != 2 {
			t.Errorf("content %q: %s of %d links, want %s", content, got, len(page.Links), want)
		}
	}
}
