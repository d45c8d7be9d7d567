package auth

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"
)

// An Exchanger turns the one-time code that a mini program got from its
// platform into the user that the platform says it belongs to. Package miniapp
// has implementations; it is the interface to write for any other platform.
//
// Exchange sends a code at most once: it does not retry, because a code whose
// first answer was lost is spent. It fails with an [ExchangeError]; any other
// error counts as [ErrPlatform]. Neither the code nor the program's secret may
// be part of an error. Exchange is safe for concurrent use.
type Exchanger interface {
	Exchange(ctx context.Context, code string) (Identity, error)
}

// DevelopmentPlatform is the platform of the identities that the development
// header makes. An [Exchanger] that claims it is not believed, so a development
// name and a platform's user are never the same teacher.
const DevelopmentPlatform = "development"

// Limits on the parts of an [Identity], in bytes.
const (
	maxPlatformBytes = 64
	maxAppIDBytes    = 128
	maxSubjectBytes  = 256
)

// Identity is a user as a platform knows it. Platform, AppID and Subject
// together identify one teacher; the same subject under another app id is
// somebody else, because platforms number users for each app.
type Identity struct {
	// Platform names the platform, such as "miniapp"; 1 to 64 bytes.
	Platform string

	// AppID is the identifier of the program at the platform; at most 128 bytes.
	AppID string

	// Subject is the platform's identifier of the user within AppID; 1 to 256
	// bytes.
	Subject string

	// UnionID is the platform's identifier of the user across apps where it
	// tells it, else "". It is stored, and identifies nobody here.
	UnionID string
}

// Valid reports whether every part keeps its limits and is printable text
// without spaces.
func (id Identity) Valid() bool {
	return id.Platform != "" && id.Subject != "" &&
		plain(id.Platform, maxPlatformBytes) && plain(id.AppID, maxAppIDBytes) &&
		plain(id.Subject, maxSubjectBytes) && plain(id.UnionID, maxSubjectBytes)
}

// plain reports whether s is at most limit bytes of printable text without
// spaces.
func plain(s string, limit int) bool {
	return len(s) <= limit && utf8.ValidString(s) &&
		!strings.ContainsFunc(s, func(r rune) bool { return r == ' ' || !unicode.IsPrint(r) })
}

// maxDevelopmentName is the longest name the development header takes, in bytes.
const maxDevelopmentName = 64

// developmentIdentity is the identity behind a name in the development header.
func developmentIdentity(name string) (Identity, bool) {
	ok := name != "" && len(name) <= maxDevelopmentName && !strings.ContainsFunc(name, func(r rune) bool {
		return !strings.ContainsRune(base62+"._@+-", r)
	})
	return Identity{Platform: DevelopmentPlatform, Subject: name}, ok
}
