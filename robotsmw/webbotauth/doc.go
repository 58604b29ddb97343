// Package webbotauth proves to servers who a crawler is: it signs requests and
// publishes the keys to verify them with.
//
// This is Web Bot Auth as of draft-ietf-webbotauth-httpsig-protocol-01 (29
// October 2026), a profile of HTTP Message Signatures (RFC 9421). The draft is
// not finished. This package changes with it, and so does the number above.
// "Draft section" in this package refers to that draft.
//
// # Signing
//
// A [Transport] signs the requests that pass through it. Give it to a crawler
// as the base transport, below pace and retries:
//
//	key, err := webbotauth.ReadKey("key.pem")
//	…
//	client, err := robotsmw.NewClient(robotsmw.Options{
//		UserAgent: "ExampleBot/1.0 (+https://bot.example/)",
//		Base: &webbotauth.Transport{
//			Key:   key,
//			Agent: "https://bot.example/.well-known/http-message-signatures-directory",
//		},
//	})
//
// Each attempt then carries three fields:
//
//	Signature-Agent: sig1="https://bot.example/.well-known/http-message-signatures-directory"
//	Signature-Input: sig1=("@authority" "@method" "@path" "signature-agent";key="sig1");created=…;expires=…;keyid="…";alg="ed25519";tag="web-bot-auth"
//	Signature: sig1=:…:
//
// Signature-Agent says where the keys are. Signature-Input says what is signed
// and until when that is valid. Deployed verifiers disagree on the form of
// Signature-Agent: see [Transport.LegacyAgent].
//
// A signature proves that the holder of the key sent the request, and nothing
// else. The owner of a site, or of the bot wall before it, decides which
// crawlers to let in, and usually wants to know of them beforehand.
//
// # Publishing the keys
//
// A [Directory] is the http.Handler for [DirectoryPath]. If the web server
// should not have the private keys, make the answer in advance with
// [Directory.Response]. [CheckDirectory] checks the result as a verifier does,
// and
//
//	robotscheck identity https://bot.example
//
// prints its report. robotscheck is in this module's examples.
//
// # Keys
//
// Keys are Ed25519 keys, which deployed verifiers accept. A key stands for a
// role, not a person, and signs for one crawler only. [ReadKey] reads a key
// from a file that only its owner may read. No error or log line of this
// package contains a private key, and printing a Transport or Directory shows
// none of its fields. The keys that are printed in RFC 9421 and RFC 8037 are
// refused.
package webbotauth
