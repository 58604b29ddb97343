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
		directives := robotsmw.Page{Directives: robotsmeta.ParseContent(content)}
		page, err := pagelinks.FromHTML(t.Context(), html, u, directives, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(page.Queue()); got != want {
			t.Errorf("page directives %q: Queue() = %s, want %s", content, got, want)
		}
		if len(page.Links) != 2 {
			t.Errorf("page directives %q: FromHTML returns %d links, want 2", content, len(page.Links))
		}
	}
}
