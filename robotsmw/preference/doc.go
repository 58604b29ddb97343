// Package preference reads what the owner of a page says about its use for
// search, for training AI, or as input to AI.
//
//	in := preference.Input{
//		Robots: decision.File(),              // the origin's robots.txt: robotsmw.Options.KeepFiles
//		Tokens: checker.Tokens(),
//		Target: "/article?id=1",
//		Header: resp.Header,
//		Page:   robotsmw.PageDirectives(resp).Directives,
//	}
//	switch v := in.For(preference.TrainAI); v.Answer {
//	case preference.Deny:
//		log.Print(v) // deny by Content-Usage in robots.txt, line 2: train-ai=n
//	}
//
// The caller names a use and gets an [Answer], allow, deny or unknown, with the
// evidence: which signal said so, where, in which words. This package fetches
// nothing and keeps no crawler from fetching: that is for robots.txt. What to
// do about an unknown is for the caller to decide.
//
// # What is read
//
//	Content-Usage    robots.txt and header   AIPREF; Internet-Drafts, see [Signal.Draft]
//	Content-Signal   robots.txt and header   contentsignals.org, by Cloudflare; no standard
//	TDMRep           header, meta, and /.well-known/tdmrep.json if the caller has it; W3C Community Group report
//	noai, noimageai  X-Robots-Tag and meta   a convention begun by DeviantArt
//	noml             the same                noml.info
//	policy tokens    robots.txt              Google-Extended and its like: names that no crawler sends
//	RSL              a file of its own       rslstandard.org, if the caller has it
//
// [Input.Licenses] lists the addresses of RSL files. [ParseRSL] parses one that
// the caller has fetched.
//
// noindex is not one of these signals: it says what may be shown. Package
// robotsmeta reads it.
//
// # How statements combine
//
// Each signal is decided by its own rules, which the next section has. Then one
// signal that denies outweighs all that allow, and one that allows outweighs
// silence.
//
// # The rules of each
//
// Content-Usage in robots.txt is read from the group for our product token. Its
// value is a Dictionary of Structured Fields (RFC 9651), with an optional path
// before it. Of the lines whose path matches, those with the longest path
// count. Among equals, and between robots.txt and header, n outweighs y. These
// say nothing: lines for a path that the crawler may not fetch, a value other
// than the tokens y and n, and a line that is no Dictionary. If a key is given
// twice in one line, the last one counts.
//
// At most 256 such lines of a robots.txt are read. A Dictionary of more than 64
// KiB is ignored.
//
// Content-Signal is read in the same way, but leniently: yes and no in any
// case, 1 and 0, and without commas. A key that this package does not know,
// such as use, says nothing about the uses here. [Input.Says] lists it.
//
// TDMRep: tdm-reservation is 1 (reserved) or 0. Any other value is ignored. A
// meta overrides the header, and the header overrides the file. In the file the
// first matching location counts.
//
// RSL: the url of a content element matches like a pattern of robots.txt, and
// an empty url matches everything. Of the elements that match, those with the
// longest url count. A url with another host than Input.Target does not match;
// a target without a host matches any. The known usage words are all, ai-all,
// ai-train (also train-ai), ai-input and search. What a licence prohibits is
// denied. What it permits is allowed if it is free and for everybody. The
// answer is unknown, and the evidence names the condition, if a payment
// (attribution too) or a licence from a server is needed, if only some users or
// countries may, or if reports are wanted. Within one licence prohibits
// outweighs permits. A content element with several licences offers a choice,
// so one that permits outweighs those that prohibit. Uses that no licence names
// get no answer.
//
// A policy token is looked up like a product token in robots.txt. If a group
// names it, the verdict for the target is the owner's answer. If no group does,
// the "*" group can deny but not allow: it was not written with that token in
// mind.
package preference
