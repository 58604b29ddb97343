// Package webbotauth says who a crawler is in a way that servers can check: it
// signs requests, and publishes the keys to check them with.
//
// This is Web Bot Auth as of draft-ietf-webbotauth-httpsig-protocol-01 (29
// October 2026), a profile of HTTP Message Signatures (RFC 9421). The draft is
// not finished; what changes in it changes here, and the number above with it.
// "Draft section" means that one.
//
// # Signing
//
// A [Transport] signs what passes through it. Give it to a crawler as the base
// transport, below the pace and the retries:
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
// The first says where the keys are, the second what is signed, and until when
// it holds. Deployed verifiers disagree on the form of the first:
// [Transport.LegacyAgent].
//
// A signature proves that the holder of the key sent the request, and nothing
// else. It opens no door by itself: the owner of a site, or of the wall before
// it, decides whom to let in, and usually wants to be told beforehand.
//
// # Publishing the keys
//
// A [Directory] is the http.Handler for [DirectoryPath]. Where the web server
// should not have the private keys, [Directory.Response] makes the answer
// ahead. [CheckDirectory] looks at the result as a verifier does, and
//
//	robotscheck identity https://bot.example
//
// prints what it says; robotscheck is in this module's examples.
//
// # Keys
//
// Keys are of Ed25519, which is what deployed verifiers take. A key names a
// role, not a person, and signs for one crawler alone. [ReadKey] reads one,
// from a file that nobody else may read. No text of this package has a private
// key in it, and a Transport or Directory that is printed or logged shows
// nothing. The keys that RFC 9421 and RFC 8037 print are refused.
package webbotauth
