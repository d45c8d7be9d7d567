package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"net/http"
	"strings"
)

// A token is prefix + body + checksum:
//
//   - the prefix tells people and secret scanners what it is;
//   - the body is 32 random bytes in unpadded base64url (43 characters), twice
//     the 128 bits that OWASP ASVS 5.0 7.2.3 asks for;
//   - the checksum is the CRC-32 of all before it in base 62 (6 characters). It
//     protects nothing; it lets a mistyped or invented token be turned down
//     without asking the store.
const (
	tokenRandomBytes   = 32
	tokenBodyChars     = 43
	tokenChecksumChars = 6
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// appendChecksum appends the checksum of b to b.
func appendChecksum(b []byte) []byte {
	sum := crc32.ChecksumIEEE(b)
	var digits [tokenChecksumChars]byte
	for i := len(digits) - 1; i >= 0; i-- {
		digits[i] = base62[sum%62]
		sum /= 62
	}
	return append(b, digits[:]...)
}

// newToken makes a token with the given prefix.
func newToken(prefix string) string {
	var random [tokenRandomBytes]byte
	_, _ = rand.Read(random[:]) // never fails: the program ends instead
	b := make([]byte, 0, len(prefix)+tokenBodyChars+tokenChecksumChars)
	b = append(b, prefix...)
	b = base64.RawURLEncoding.AppendEncode(b, random[:])
	return string(appendChecksum(b))
}

// hashToken returns what a token is stored under, and false where it cannot be
// a token of ours, whatever the store holds.
func hashToken(prefix, token string) (TokenHash, bool) {
	if len(token) != len(prefix)+tokenBodyChars+tokenChecksumChars || !strings.HasPrefix(token, prefix) {
		return TokenHash{}, false
	}
	var buf [maxPrefixBytes + tokenBodyChars + tokenChecksumChars]byte
	b := appendChecksum(append(buf[:0], token[:len(token)-tokenChecksumChars]...))
	if string(b) != token {
		return TokenHash{}, false
	}
	return sha256.Sum256(b), true
}

// maxPrefixBytes is the longest prefix a token may have.
const maxPrefixBytes = 16

func checkPrefix(prefix string) error {
	if len(prefix) > maxPrefixBytes || strings.ContainsFunc(prefix, func(r rune) bool {
		return r != '_' && !strings.ContainsRune(base62, r)
	}) {
		return fmt.Errorf("token prefix %q: want at most %d of A-Z, a-z, 0-9 and _", prefix, maxPrefixBytes)
	}
	return nil
}

// BearerToken returns the token of the Authorization header by RFC 6750
// section 2.1. It is ErrNoToken without such a header or with another scheme,
// and ErrInvalidToken where a request could be read in two ways. Tokens in
// query strings or forms are never looked for: those end up in logs. Whether
// the token is good is for [Service.AuthenticateToken] to say. The keys of h
// are in canonical form.
func BearerToken(h http.Header) (string, error) {
	values := h["Authorization"]
	if len(values) == 0 {
		return "", ErrNoToken
	}
	if len(values) > 1 {
		return "", fmt.Errorf("%w: more than one Authorization header", ErrInvalidToken)
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", ErrNoToken
	}
	return token, nil
}
