package auth

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"

	signin "lessonkit.example/auth"
)

// nearMiss changes the last of a token's random bytes.
func nearMiss(random []byte) { random[len(random)-1] ^= 1 }

// farMiss changes them all.
func farMiss(random []byte) { _, _ = rand.Read(random) }

// guess returns a call that is rejected: its token is a valid one after change, with the right
// checksum, so that the store is queried.
func (s *side) guess(change func([]byte)) call {
	const candidates = 256
	tokens := make([]string, candidates)
	for i := range tokens {
		good := s.tokens[i]
		random, err := base64.RawURLEncoding.DecodeString(good[4:47])
		if err != nil {
			panic(err) // not a token of package auth
		}
		change(random)
		tokens[i] = withChecksum(good[:4] + base64.RawURLEncoding.EncodeToString(random))
	}
	return func(ctx context.Context, i int) error {
		_, err := s.service.Authenticate(ctx, tokens[i%candidates])
		if errors.Is(err, signin.ErrInvalidToken) {
			return nil
		}
		return fmt.Errorf("a guess: %w", err)
	}
}

// withChecksum appends the checksum of a token: the CRC-32 in base 62.
func withChecksum(token string) string {
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := crc32.ChecksumIEEE([]byte(token))
	var check [6]byte
	for i := len(check) - 1; i >= 0; i-- {
		check[i] = digits[sum%62]
		sum /= 62
	}
	return token + string(check[:])
}
