// Package preference reads what the owner of a page says about its use: for
// search, for training AI, as input to AI.
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
// evidence: who said so, where, in which words. Nothing is fetched here, and
// nothing here keeps a crawler from fetching: that is robots.txt's part. What
// to do about an unknown is the caller's decision, too.
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
// [Input.Licenses] lists the addresses of RSL files; [ParseRSL] reads one that
// the caller has fetched.
//
// noindex is not among these: it says what may be shown, and package robotsmeta
// tells it.
//
// # How statements combine
//
// Each signal is decided by its own rules, as the next section says; then the
// signals add up: one that denies outweighs any that allow, and any that allows
// outweighs silence.
//
// # The rules of each
//
// Content-Usage in robots.txt stands in the group for our product token. Its
// value is a Dictionary of Structured Fields (RFC 9651), before which a path
// may stand. Of the lines whose path matches, those with the longest count;
// among equals, and between robots.txt and header, n outweighs y. Lines for a
// path that the crawler may not fetch say nothing. A value other than the
// tokens y and n, and a line that is no Dictionary, say nothing. Of a key given
// twice in one line the last counts.
//
// At most 256 such lines of a robots.txt are read. A Dictionary of more than 64
// KiB says nothing.
//
// Content-Signal is read likewise, but leniently: yes and no in any case, 1 and
// 0, and without commas between. A key that has no meaning here, such as use,
// says nothing about the uses here; [Input.Says] lists it.
//
// TDMRep: tdm-reservation is 1 (reserved) or 0; any other value is none. A meta
// supersedes the header, and the header the file, in which the first matching
// location counts.
//
// RSL: of the content elements whose url matches, as a pattern of robots.txt
// does, those with the longest count; an empty url matches everything. A url of
// another host than Input.Target's is not meant, if the target says its host.
// Of usage the words all, ai-all, ai-train (also train-ai), ai-input and search
// are known. What a licence prohibits is denied. What it permits is allowed if
// it is free and for everybody. If it is paid for (by attribution, too), needs
// a licence from a server, is limited to users or countries, or wants reports,
// the answer is unknown, and the evidence names the condition. Within a licence
// prohibits outweighs permits. Among the licences of a content there is a
// choice, so one that permits outweighs those that prohibit. What no licence
// names is not answered.
//
// A policy token is evaluated like a robot's name in robots.txt. If a group
// names it, the verdict for the target is the owner's answer. If none does, the
// "*" group can deny, but does not allow: it was not written with that token in
// mind.
package preference
