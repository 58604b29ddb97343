package preference

import "testing"

// TestRobotsFields_SharedGroup checks files in which two robots share a group,
// because there is no rule between their user-agent lines. The preference for
// one robot must not change the answer for the other, although it has a longer
// path.
func TestRobotsFields_SharedGroup(t *testing.T) {
	ours := []string{"OurBot"}
	theirs := []string{"TheirBot"}
	usage := robots(
		"User-agent: OurBot",
		"Content-Usage: train-ai=n",
		"",
		"User-agent: TheirBot",
		"Content-Usage: /page train-ai=y, search=n",
		"Allow: /",
	)
	signal := robots(
		"User-agent: OurBot",
		"Content-Signal: ai-train=no",
		"",
		"User-agent: TheirBot",
		"Content-Signal: /page ai-train=yes, search=no",
		"Allow: /",
	)
	wildcard := robots(
		"User-agent: *",
		"Content-Usage: train-ai=n",
		"User-agent: TheirBot",
		"Content-Usage: train-ai=y",
		"Allow: /",
	)
	run(t, []check{
		{
			name: "Content-Usage for the robot",
			in:   Input{Robots: usage, Tokens: ours, Target: "/page"},
			want: "unknown deny unknown",
		},
		{
			name: "Content-Usage for the other robot",
			in:   Input{Robots: usage, Tokens: theirs, Target: "/page"},
			want: "deny allow unknown",
		},
		{
			name: "Content-Signal for the robot",
			in:   Input{Robots: signal, Tokens: ours, Target: "/page"},
			want: "unknown deny unknown",
		},
		{
			name: "Content-Signal for the other robot",
			in:   Input{Robots: signal, Tokens: theirs, Target: "/page"},
			want: "deny allow unknown",
		},
		{"the preference for *", Input{Robots: wildcard, Tokens: ours}, "unknown deny unknown"},
		{"the preference for one robot after that for *", Input{Robots: wildcard, Tokens: theirs}, "unknown allow unknown"},
		{
			name: "a rule after both preferences",
			in: Input{
				Robots: robots(
					"User-agent: OurBot",
					"Content-Usage: train-ai=y",
					"User-agent: TheirBot",
					"Content-Usage: train-ai=y",
					"Disallow: /page",
				),
				Tokens: ours,
				Target: "/page",
			},
			want: "unknown unknown unknown",
		},
	})
}
