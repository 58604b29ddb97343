// Package identity implements robotscheck identity.
//
// Identity fetches the keys with which servers check who signed a request (Web
// Bot Auth, draft-ietf-webbotauth-httpsig-protocol-01), and checks the answer
// as a verifier does: whether it is a 200 without a redirect, its media type,
// the keys and their names, its signatures and how long they hold, and how long
// the answer may be cached. URL is that of the key directory, or of its origin
// alone.
//
//	robotscheck identity https://bot.example
//
// With -out, it makes the directory from private keys instead, so that the web
// server needs no private key. It writes three files into DIR. If it makes them
// again from the same keys, only times and signatures change:
//
//	http-message-signatures-directory          to serve below /.well-known/
//	http-message-signatures-directory.headers  the header fields for it
//	http-message-signatures-directory.nginx    both, to include in the server
//	                                           block of URL's host in nginx
//
// Make them again before half of -validity is over. While you change keys, give
// both: -key new.pem -key old.pem.
//
//	openssl genpkey -algorithm ed25519 -out key.pem
//	robotscheck identity -out keys -key key.pem https://bot.example
//
// Exit status: 0 no problems, or the files are written, 1 something is wrong, 2
// there is no answer, or the files could not be made.
//
// With -json, one object:
//
//	url       of the directory
//	keys      [{"id", "signed_until"}], those that a verifier can use;
//	          signed_until is absent if no signature holds
//	problems  sentences
//	files     with -out: what was written
//	renew     with -out: the time by which to make the files again
package identity
