// Package webbotauth authenticates a crawler to servers: it signs requests, and
// publishes the public keys with which servers verify the signatures.
//
// This is Web Bot Auth as of draft-ietf-webbotauth-httpsig-protocol-01 (29
// October 2026), a profile of HTTP Message Signatures (RFC 9421). The draft is
// not finished, and this package will follow its changes. "Draft section" and
// "draft appendix" in this package refer to that draft.
//
// # Signing
//
// A [Transport] signs the requests that pass through it. It should be the base
// transport of a crawler, below the layers that rate-limit and retry requests:
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
// Each attempt over https then has three more header fields:
//
//	Signature-Agent: sig1="https://bot.example/.well-known/http-message-signatures-directory"
//	Signature-Input: sig1=("@authority" "@method" "@path" "signature-agent";key="sig1");created=…;expires=…;keyid="…";alg="ed25519";tag="web-bot-auth"
//	Signature: sig1=:…:
//
// Signature-Agent is the URL of the keys. Signature-Input lists the signed
// components, and contains the times between which the signature is valid.
// Deployed verifiers disagree on the form of Signature-Agent: see
// [Transport.LegacyAgent].
//
// A signature proves only that the holder of the key signed the request. The
// owner of a site, or its bot protection, decides which crawlers have access,
// and usually requires them to register.
//
// # Publishing the keys
//
// A [Directory] is the http.Handler for [DirectoryPath]. If the web server
// should not have the private keys, the response can be created in advance with
// [Directory.Response]. [CheckDirectory] fetches the directory and checks it as
// a verifier does. This command prints the result:
//
//	robotscheck identity https://bot.example
//
// robotscheck is one of this module's examples.
//
// # Keys
//
// Keys are Ed25519 keys, which deployed verifiers accept. Each crawler should
// have its own key, because a key identifies a crawler and not its operator.
// [ReadKey] reads a key from a file that only its owner may read. No error or
// log line of this package contains a private key, and printing a Transport or
// Directory shows none of its fields. The example keys of RFC 9421 and RFC 8037
// are rejected.
package webbotauth
