// Package preference reads what the owner of a page says about the use of the
// page for search, for training AI, or as input to AI.
//
//	in := preference.Input{
//		Robots: decision.File(), // nil without robotsmw.Options.KeepFiles
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
// The caller names a use and gets an [Answer]: allow, deny or unknown. The
// evidence says which signal gave the answer, where, and in which words. This
// package fetches nothing, and it does not decide what a crawler may fetch:
// robots.txt does. The caller decides what to do if the answer is unknown.
//
// # What is read
//
//	Content-Usage    robots.txt and header   AIPREF, Internet-Drafts
//	Content-Signal   robots.txt and header   contentsignals.org, by Cloudflare; no standard
//	TDMRep           header, meta, and /.well-known/tdmrep.json if the caller has it; W3C Community Group report
//	noai, noimageai  X-Robots-Tag and meta   a convention begun by DeviantArt
//	noml             X-Robots-Tag and meta   noml.info
//	policy tokens    robots.txt              tokens such as Google-Extended; an Internet-Draft
//	RSL              a file of its own       RSL 1.0 (rslstandard.org/rsl), if the caller has it
//
// Documents that may still change are named with number and date in
// Statement.Draft, and nowhere else.
//
// [Input.Licenses] lists the addresses of RSL files. [ParseRSL] parses one that
// the caller has fetched. [Input.ContentUse] says how far a page may be reused.
//
// noindex is not one of these signals: it says what may be shown. Package
// robotsmeta reads it.
//
// # How statements combine
//
// Each signal is read by its own rules, which the next section gives. Then one
// signal that denies outweighs all signals that allow. If none denies and one
// allows, the answer is allow. Otherwise the answer is unknown: silence is
// silence. What cannot be read is part of the evidence, and never allows. All
// lines of a header field together may have 64 KiB. A longer field cannot be
// read.
//
// One label answers one use. A page that says "ai-use=n" denies [AIInput], and
// says nothing about [TrainAI] or [Search]. The vocabulary of AIPREF (§4.3) has
// search override the other two labels: they do not bind a use that meets all
// conditions of search. So who only searches asks about Search alone, and who
// does more with a page asks about each use.
//
// # The rules of each signal
//
// Content-Usage has the labels "train-ai" ([TrainAI]), "ai-use" ([AIInput]) and
// "search" ([Search]), in lower case, with the tokens "y" and "n" as values.
// Any other label or value is listed and decides nothing. Parameters are
// ignored. If a label is repeated, the last value counts. In robots.txt,
// Content-Usage is read from the group for our product token. Its value is a
// Dictionary of Structured Fields (RFC 9651), with an optional path before it.
// Of the lines whose path matches, only those with the longest path are used.
// Among lines with equally long paths, and between robots.txt and header, "n"
// outweighs "y". If the crawler may not fetch the target, all lines of
// Content-Usage in robots.txt are ignored. A line that is no Dictionary cannot
// be read. The lines of the header are one Dictionary.
//
// Content-Signal has the labels "ai-train" ([TrainAI]), "ai-input" ([AIInput])
// and "search" ([Search]). Lines in robots.txt are chosen by group and path as
// for Content-Usage. But they are used even if the crawler may not fetch the
// target. Each line is read by itself, and leniently: labels, "yes" and "no"
// may be in any letter case, and "1" and "0" are accepted. So are semicolons or
// spaces instead of commas. If a label is repeated, "no" outweighs "yes". Any
// other label or value is listed and decides nothing. The label "use" decides
// nothing either: [Input.ContentUse] returns the least of its values.
//
// At most 256 lines of each of these two fields in our group are read.
//
// TDMRep is about training: tdm-reservation is 1 (reserved) or 0. Any other
// value is listed and decides nothing. A meta overrides the header, and the
// header overrides the file. Of several metas or header lines, 1 outweighs 0.
// In the file, only the first matching location is used.
//
// RSL: the url of a content element matches like a pattern of robots.txt, and
// an empty url matches everything. Of the elements that match, only those with
// the longest url are used. A url with another scheme or host than Input.Target
// does not match, unless the target has no host. The known usage words are
// "all", "ai-all", "ai-train" (also "train-ai"), "ai-input" and "search". What
// a licence prohibits is denied. What it permits is allowed if the permission
// is free and for everybody. If a permission has a condition, the answer is
// unknown, and the evidence names the condition. A permission has a condition
// if somebody must pay for it (attribution counts as a payment), get the
// licence from a server, or report the use. A permission that only some users
// or countries have counts as one with a condition too. Within one licence,
// "prohibits" outweighs "permits". A content element with several licences
// offers a choice. So a licence that permits, even with a condition, outweighs
// those that prohibit. A use that no licence names gets no answer.
//
// RSL's errata (rslstandard.org/rsl/errata) say that the association of License
// lines with groups was clarified on 2026-01-16, and the revalidation of RSL
// files on 2026-02-19. The clarified text itself was not found. License lines
// are read from the whole robots.txt, whatever group they stand in, as RSL's
// guide to robots.txt says. How long an RSL file may be kept is up to the
// caller, who fetches it: by HTTP's rules, if in doubt.
//
// A policy token is looked up like a product token in robots.txt. If a group
// names it, the verdict of that group on the target is the owner's answer. If
// no group names it, the "*" group can deny but not allow, because its author
// did not have this token in mind.
package preference
