package preference

import "testing"

// A robot has a preference of its own and no rule, and another robot's
// user-agent line follows. The other's preference has a longer path, or another
// answer. It must not change the first one's answer: an own "n" would become
// allow through another's "y".
func TestWhosePreference(t *testing.T) {
	ours, theirs := []string{"OurBot"}, []string{"TheirBot"}
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
	everybody := robots(
		"User-agent: *",
		"Content-Usage: train-ai=n",
		"User-agent: TheirBot",
		"Content-Usage: train-ai=y",
		"Allow: /",
	)
	run(t, []check{
		{
			name: "Content-Usage, ours",
			in:   Input{Robots: usage, Tokens: ours, Target: "/page"},
			want: "unknown deny unknown",
		},
		{
			name: "Content-Usage, theirs",
			in:   Input{Robots: usage, Tokens: theirs, Target: "/page"},
			want: "deny allow unknown",
		},
		{
			name: "Content-Signal, ours",
			in:   Input{Robots: signal, Tokens: ours, Target: "/page"},
			want: "unknown deny unknown",
		},
		{
			name: "Content-Signal, theirs",
			in:   Input{Robots: signal, Tokens: theirs, Target: "/page"},
			want: "deny allow unknown",
		},
		{"that of all robots", Input{Robots: everybody, Tokens: ours}, "unknown deny unknown"},
		{"that of one robot", Input{Robots: everybody, Tokens: theirs}, "unknown allow unknown"},
		{
			name: "a rule after both, for both",
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
