// Package preference determines whether the owner of a page allows its use for
// search, for AI training, or as input to AI.
//
//	in := preference.Input{
//		Robots: decision.File(), // requires robotsmw.Options.KeepFiles
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
// The result for a use is a [Verdict]. It contains an [Answer], which is allow,
// deny or unknown, and the statements of the owner on which the answer is
// based. The package sends no requests, and it does not determine what a
// crawler may fetch, which depends only on the rules of robots.txt. What to do
// if the answer is unknown is up to the caller.
//
// # Signals
//
//	Content-Usage    robots.txt, header     AIPREF, Internet-Drafts
//	Content-Signal   robots.txt, header     contentsignals.org; not standardized
//	TDMRep           header, meta, a file   W3C Community Group report
//	noai, noimageai  X-Robots-Tag, meta     a convention introduced by DeviantArt
//	noml             X-Robots-Tag, meta     noml.info
//	policy tokens    robots.txt             an Internet-Draft
//	RSL              a file                 RSL 1.0 (rslstandard.org/rsl)
//
// A policy token is a name such as Google-Extended in a user-agent line. The
// files of TDMRep (/.well-known/tdmrep.json) and RSL are optional, and the
// caller must fetch them. [Input.Licenses] returns the URLs of RSL files.
//
// [Input.For] and [ParseRSL] document how each signal is interpreted. The field
// Statement.Draft contains the version of a specification that may still
// change. The directive noindex is not a signal, because it controls what may
// be shown; see package robotsmeta.
//
// # Combining signals
//
// If any signal denies a use, the answer is deny. If none denies it and one
// allows it, the answer is allow. Otherwise the answer is unknown. Invalid
// input is part of the evidence, but never allows a use.
//
// The answers for different uses are independent. For example, "ai-use=n"
// denies [AIInput], but does not affect [TrainAI] or [Search]. According to the
// vocabulary of AIPREF (§4.3), the other labels do not apply to a use that
// meets all conditions of search. A search engine should therefore query only
// Search, and a crawler with several purposes should query each of them.
//
// # Limits
//
// If the input exceeds a limit, the rest of it might deny a use. The answer is
// then never allow, and the evidence includes the limit:
//
//	robots.txt                                     500 KiB (robotstxt.MaxSize)
//	Content-Usage lines, Content-Signal lines      256 each, of the robot's groups
//	one such line                                  64 KiB
//	all lines of a header field                    64 KiB
//	X-Robots-Tag and meta elements                 see robotsmeta.Directives.Truncated
//	tdmrep.json                                    1 MiB, 1,000 entries, 64 KiB for a location
//	License lines and Links, if Input.RSL is set   256
//	an RSL file                                    1 MiB, 30,000 tags, 64 KiB for a url: ParseRSL fails
package preference
