package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"hash/crc32"
	"strings"
)

// A token is prefix + body + checksum:
//
//   - the prefix tells people and secret scanners what it is;
//   - the body is 32 random bytes in unpadded base64url (43 characters), twice the 128 bits that
//     OWASP ASVS 5.0 7.2.3 requires;
//   - the checksum is the CRC-32 of everything before it in base 62 (6 characters). It protects
//     nothing; it lets a mistyped or invented token be rejected without a query to the store.
const (
	tokenPrefix        = "mps_"
	tokenRandomBytes   = 32
	tokenBodyChars     = 43
	tokenChecksumChars = 6
	tokenChars         = len(tokenPrefix) + tokenBodyChars + tokenChecksumChars
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

// newToken returns a new random token.
func newToken() string {
	var random [tokenRandomBytes]byte
	_, _ = rand.Read(random[:]) // never fails: the program ends instead
	b := make([]byte, 0, tokenChars)
	b = append(b, tokenPrefix...)
	b = base64.RawURLEncoding.AppendEncode(b, random[:])
	return string(appendChecksum(b))
}

// hashToken returns the hash that a token is stored under, or false if its form shows that it is
// not a token of this package.
func hashToken(token string) (TokenHash, bool) {
	if len(token) != tokenChars || !strings.HasPrefix(token, tokenPrefix) {
		return TokenHash{}, false
	}
	var buf [tokenChars]byte
	b := appendChecksum(append(buf[:0], token[:len(token)-tokenChecksumChars]...))
	if string(b) != token {
		return TokenHash{}, false
	}
	return sha256.Sum256(b), true
}
