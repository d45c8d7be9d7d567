package auth

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Exchanger exchanges the one-time code that a client got from its platform for the identity of
// the user. Package miniapp implements it for mini programs, package oauth for OAuth 2 servers;
// authtest.ExchangerSuite tests an implementation.
//
// The code is what the caller of [Service.Login] passed: printable ASCII of at most 2048 bytes. A
// platform with PKCE (RFC 7636) needs the verifier too. Pass both in one string, the verifier, a
// space and the code: a verifier contains no space. Nobody who knows only the code shares the
// result of an exchange then, since concurrent calls share one if their strings are equal.
//
// Exchange sends a code at most once: it does not retry, because a code whose first answer was lost
// is used up. It fails with an [ExchangeError], for an empty code with [ErrCodeMissing]; any other
// error counts as [ErrPlatform]. Errors contain neither the code nor the program's secret. Exchange
// is safe for concurrent use.
type Exchanger interface {
	Exchange(ctx context.Context, code string) (Identity, error)
}

// developmentPlatform is the platform of the identities that [Service.AuthenticateDevelopment]
// creates. An [Exchanger] that returns it is an error, so a development name and a platform's user
// are never the same user.
const developmentPlatform = "development"

// Limits on the parts of an [Identity], in bytes.
const (
	maxPlatformBytes = 64
	maxAppIDBytes    = 128
	maxSubjectBytes  = 256
)

// Identity is a user as a platform identifies them. Platform, AppID and Subject together identify
// one user: platforms number users for each app, so the same subject under another app id is
// another user.
type Identity struct {
	// Platform names the platform, such as "miniapp"; 1 to 64 bytes.
	Platform string

	// AppID is the identifier of the program at the platform; at most 128 bytes.
	AppID string

	// Subject is the platform's identifier of the user within AppID; 1 to 256 bytes.
	Subject string

	// UnionID is the platform's identifier of the user across apps, or "" if the platform does not
	// return one. It is stored but does not identify a user.
	UnionID string
}

// Valid reports whether all parts are within their limits and are printable text without spaces.
func (id Identity) Valid() bool {
	return id.Platform != "" && id.Subject != "" &&
		isPlain(id.Platform, maxPlatformBytes) && isPlain(id.AppID, maxAppIDBytes) &&
		isPlain(id.Subject, maxSubjectBytes) && isPlain(id.UnionID, maxSubjectBytes)
}

// isPlain reports whether s is at most limit bytes of printable text without spaces.
func isPlain(s string, limit int) bool {
	return len(s) <= limit && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) })
}

// maxDevelopmentName is the length of the longest development name, in bytes.
const maxDevelopmentName = 64

// developmentIdentity returns the identity of a development name, and whether the name is valid.
func developmentIdentity(name string) (Identity, bool) {
	ok := name != "" && len(name) <= maxDevelopmentName && !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune(base62+"._@+-", r)
	})
	return Identity{Platform: developmentPlatform, Subject: name}, ok
}
