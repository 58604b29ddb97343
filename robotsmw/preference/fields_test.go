package preference

import "testing"

// A robot has a preference of its own and no rule, and another robot's
// user-agent line follows. The other's preference has a longer path, or another
// answer. It must not change the first one's answer: an own "n" would become
// allow through another's "y".
func TestWhosePreference(t *testing.T) {
	ours, theirs := []string{"OurBot"}, []string{"TheirBot"}
	usage := robots("User-agent: OurBot", "Content-Usage: train-ai=n", "", "User-agent: TheirBot", "Content-Usage: /page train-ai=y, search=n", "Allow: /")
	signal := robots("User-agent: OurBot", "Content-Signal: ai-train=no", "", "User-agent: TheirBot", "Content-Signal: /page ai-train=yes, search=no", "Allow: /")
	everybody := robots("User-agent: *", "Content-Usage: train-ai=n", "User-agent: TheirBot", "Content-Usage: train-ai=y", "Allow: /")
	run(t, []check{
		{"Content-Usage, ours", Input{Robots: usage, Tokens: ours, Target: "/page"}, "unknown deny unknown"},
		{"Content-Usage, theirs", Input{Robots: usage, Tokens: theirs, Target: "/page"}, "deny allow unknown"},
		{"Content-Signal, ours", Input{Robots: signal, Tokens: ours, Target: "/page"}, "unknown deny unknown"},
		{"Content-Signal, theirs", Input{Robots: signal, Tokens: theirs, Target: "/page"}, "deny allow unknown"},
		{"that of all robots", Input{Robots: everybody, Tokens: ours}, "unknown deny unknown"},
		{"that of one robot", Input{Robots: everybody, Tokens: theirs}, "unknown allow unknown"},
		{"a rule after both, for both", Input{Robots: robots("User-agent: OurBot", "Content-Usage: train-ai=y", "User-agent: TheirBot", "Content-Usage: train-ai=y", "Disallow: /page"), Tokens: ours, Target: "/page"}, "unknown unknown unknown"},
	})
}
