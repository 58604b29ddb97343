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
//	Content-Usage    robots.txt, header     AIPREF, Internet-Drafts
//	Content-Signal   robots.txt, header     contentsignals.org; no standard
//	TDMRep           header, meta, a file   W3C Community Group report
//	noai, noimageai  X-Robots-Tag, meta     a convention begun by DeviantArt
//	noml             X-Robots-Tag, meta     noml.info
//	policy tokens    robots.txt             an Internet-Draft
//	RSL              a file                 RSL 1.0 (rslstandard.org/rsl)
//
// A policy token is a name such as Google-Extended. The caller fetches the
// files of TDMRep (/.well-known/tdmrep.json) and RSL, if they are to be read.
//
// Documents that may still change are named with number and date in
// Statement.Draft, and nowhere else.
//
// [Input.For] and [ParseRSL] say by which rules each of them is read.
// [Input.Licenses] lists the addresses of RSL files. [Input.ContentUse] says
// how far a page may be reused.
//
// noindex is not one of these signals: it says what may be shown. Package
// robotsmeta reads it.
//
// # How statements combine
//
// One signal that denies outweighs all signals that allow. If none denies and
// one allows, the answer is allow. Otherwise the answer is unknown: silence is
// silence. What cannot be read is part of the evidence, and never allows.
//
// This package limits how much it reads. What lies beyond a limit might deny,
// so beyond it no answer is allow, and the evidence names the limit:
//
//	a robots.txt                                500 KiB (robotstxt.MaxSize)
//	lines of Content-Usage, of Content-Signal   256 each, in our group
//	one such line                               64 KiB
//	all lines of a header field together        64 KiB
//	X-Robots-Tag and metas                      see robotsmeta.Directives.Truncated
//	tdmrep.json                                 1 MiB, 1,000 entries, 64 KiB for a location
//	License lines and Links, if Input.RSL is set   256
//	an RSL file                                 1 MiB, 30,000 tags, 64 KiB for a url: ParseRSL fails
//
// One label answers one use. A page that says "ai-use=n" denies [AIInput], and
// says nothing about [TrainAI] or [Search]. The vocabulary of AIPREF (§4.3) has
// search override the other two labels: they do not bind a use that meets all
// conditions of search. So if you only search, ask about Search alone. If you
// do more with a page, ask about each use.
package preference
