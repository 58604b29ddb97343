package syntax

import (
	"strings"
	"testing"
)

func TestToken(t *testing.T) {
	for _, test := range []struct {
		token, lines, others string // values that name the token, and values that do not; "|" separates them
	}{
		{
			token:  "ExampleBot",
			lines:  "ExampleBot|examplebot|ExampleBot/1.0|ExampleBot 2|ExampleBot2|ExampleBot.|ExampleBot*",
			others: "Example|ExampleBot-News|ExampleBots|ExampleBot_|MyExampleBot||*",
		},
		{
			token:  "MJ12bot",
			lines:  "MJ12bot|mj12BOT|MJ12bot/v1.4.8|MJ12bot (x)",
			others: "MJ|MJ12|MJ12bot2|MJ12bot.x|MJ12botx",
		},
		{
			token:  "archive.org_bot",
			lines:  "archive.org_bot|Archive.Org_Bot",
			others: "archive|archive.org|archive.org_bot.x",
		},
		{"*", "*|* foo|*\tfoo", "*foo||**|x"},
		{"", "", "|x|*"},
		{"My Bot", "", "My Bot|My|My Bot 2"},
	} {
		for i, lines := range []string{test.lines, test.others} {
			if i == 0 && lines == "" {
				continue
			}
			for line := range strings.SplitSeq(lines, "|") {
				if got := NewToken(test.token).IsIn(line); got != (i == 0) {
					t.Errorf("NewToken(%q).IsIn(%q) = %t, want %t", test.token, line, got, i == 0)
				}
			}
		}
	}
}
