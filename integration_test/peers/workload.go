package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A workload is a robots.txt file, with URLs (paths with queries) to match.
type workload struct {
	name   string
	robots string
	urls   []string
}

var words = strings.Fields(`about account admin ajax api app archive article assets author auth basket blog brand
	calendar cart catalog category cgi-bin checkout cms comment compare contact content css customer data download
	edit email en error event export faq feed file filter form forum gallery group help history home image import
	include index info item job js label lang legal library link list login logout mail map media member menu
	message mobile my-account news node note offer order page partner password payment photo plugin policy popup
	post press preview price print private product profile promo public query rate register report result review
	rss sale search section service session setting share shop sitemap sort static stats store style subscribe
	support survey system tag team template temp term test theme thread ticket tool topic track trial update upload
	user vendor video view vote widget wiki wishlist work`)

// word returns a random word.
func word(rng *rand.Rand) string { return words[rng.IntN(len(words))] }

// literalPath returns a path like those of real sites: a few words and some
// numbers.
func literalPath(rng *rand.Rand) string {
	switch rng.IntN(4) {
	case 0:
		return fmt.Sprintf("/%s/%s/", word(rng), word(rng))
	case 1:
		return fmt.Sprintf("/%s/%s-%d", word(rng), word(rng), rng.IntN(1000))
	case 2:
		return fmt.Sprintf("/%s/%s/%s.php", word(rng), word(rng), word(rng))
	default:
		return fmt.Sprintf("/%s-%s/%d/", word(rng), word(rng), rng.IntN(10000))
	}
}

// wildPattern returns a pattern with a wildcard.
func wildPattern(rng *rand.Rand) string {
	switch rng.IntN(5) {
	case 0:
		return fmt.Sprintf("/*?%s=%d", word(rng), rng.IntN(1000))
	case 1:
		return fmt.Sprintf("/*/%s/%s-%d/", word(rng), word(rng), rng.IntN(100))
	case 2:
		return fmt.Sprintf("/%s/*/%s%d", word(rng), word(rng), rng.IntN(1000))
	case 3:
		return fmt.Sprintf("/*-%s-%d.html$", word(rng), rng.IntN(1000))
	default:
		return fmt.Sprintf("/%s*%s=%s&", word(rng), word(rng), word(rng))
	}
}

// matchingURL returns a URL that the pattern matches.
func matchingURL(rng *rand.Rand, pattern string) string {
	url := strings.ReplaceAll(pattern, "*", word(rng))
	if strings.HasSuffix(url, "$") {
		return strings.TrimSuffix(url, "$")
	}
	return url + word(rng)
}

// crawlURL returns a URL like those of a crawl.
func crawlURL(rng *rand.Rand) string {
	switch rng.IntN(4) {
	case 0:
		return fmt.Sprintf("/%s/%s-%s-%s-%d.html", word(rng), word(rng), word(rng), word(rng), rng.IntN(100000))
	case 1:
		return fmt.Sprintf("/%s/%s?page=%d", word(rng), word(rng), rng.IntN(50))
	case 2:
		return fmt.Sprintf("/%d/%02d/%s-%s/", 2000+rng.IntN(26), 1+rng.IntN(12), word(rng), word(rng))
	default:
		return fmt.Sprintf("/%s/%s/%s/%d", word(rng), word(rng), word(rng), rng.IntN(100000))
	}
}

// crawlWorkload returns a workload with 200 URLs. It has as many rules without
// a wildcard as literals, and as many with one as wilds. About 30% of the URLs
// match a rule.
func crawlWorkload(name string, literals, wilds int) workload {
	rng := rand.New(rand.NewPCG(uint64(literals), uint64(wilds)))
	seen := map[string]bool{}
	var patterns []string
	add := func(n int, newPattern func(*rand.Rand) string) {
		for n > 0 {
			if p := newPattern(rng); !seen[p] {
				seen[p] = true
				patterns = append(patterns, p)
				n--
			}
		}
	}
	add(literals, literalPath)
	add(wilds, wildPattern)
	rng.Shuffle(len(patterns), func(i, j int) { patterns[i], patterns[j] = patterns[j], patterns[i] })
	var robots strings.Builder
	robots.WriteString("User-agent: *\n")
	for _, p := range patterns {
		kind := "Disallow"
		if rng.IntN(6) == 0 {
			kind = "Allow"
		}
		fmt.Fprintf(&robots, "%s: %s\n", kind, p)
	}
	w := workload{name: name, robots: robots.String()}
	for range 200 {
		if rng.IntN(10) < 3 {
			w.urls = append(w.urls, matchingURL(rng, patterns[rng.IntN(len(patterns))]))
		} else {
			w.urls = append(w.urls, crawlURL(rng))
		}
	}
	return w
}
