// Package identity implements robotscheck identity.
//
// Identity fetches the key directory with which servers verify the signatures
// of a crawler's requests (Web Bot Auth,
// draft-ietf-webbotauth-httpsig-protocol-01), and checks it as a verifier does:
// its status, which must be 200 without a redirect, its media type, the keys
// and their names, the signatures and their validity, and the cache lifetime.
// URL is that of the key directory, or of its origin.
//
//	robotscheck identity https://bot.example
//
// With -out, it instead creates the directory from private keys, so that the
// web server needs no private key. It writes three files into DIR. Each time,
// only times and signatures change, if the keys are the same:
//
//	http-message-signatures-directory          to serve below /.well-known/
//	http-message-signatures-directory.headers  the header fields for it
//	http-message-signatures-directory.nginx    both, to include in the server
//	                                           block of URL's host in nginx
//
// The files should be renewed within half of -validity. While keys are changed,
// specify both: -key new.pem -key old.pem.
//
//	openssl genpkey -algorithm ed25519 -out key.pem
//	robotscheck identity -out keys -key key.pem https://bot.example
//
// Exit status: 0 no problems, or the files are written, 1 there are problems, 2
// there is no response, or the files could not be written.
//
// With -json, one object:
//
//	url       of the directory
//	keys      [{"id", "signed_until"}], those that a verifier can use;
//	          signed_until is absent if there is no valid signature
//	problems  sentences
//	files     with -out: the names of the written files
//	renew     with -out: the time before which to renew the files
package identity
