package auth

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base32"
	"strings"
)

// An API token is ms_<prefix>_<secret>, both parts in lower case letters and digits. The prefix names the token and is no secret; of the
// secret only the hash is kept. It is random, so that a fast hash is enough.
const (
	tokenStart  = "ms_"
	prefixBytes = 8
	secretBytes = 32
	// MaxTokenBytes bounds a credential that is looked at.
	MaxTokenBytes = 8 << 10
)

func tokenAlphabet() *base32.Encoding {
	return base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
}

// newToken draws a token. The text is shown to its owner once and then forgotten.
func newToken() (text, prefix string, hash []byte) {
	random := make([]byte, prefixBytes+secretBytes)
	_, _ = rand.Read(random) // it never fails: the program would end
	prefix = tokenAlphabet().EncodeToString(random[:prefixBytes])
	secret := tokenAlphabet().EncodeToString(random[prefixBytes:])
	return tokenStart + prefix + "_" + secret, prefix, hashSecret(secret)
}

// splitToken returns the parts of a text that has the form of a token.
func splitToken(text string) (prefix, secret string, ok bool) {
	rest, ok := strings.CutPrefix(text, tokenStart)
	if !ok {
		return "", "", false
	}
	prefix, secret, ok = strings.Cut(rest, "_")
	enc := tokenAlphabet()
	ok = ok && len(prefix) == enc.EncodedLen(prefixBytes) && len(secret) == enc.EncodedLen(secretBytes)
	return prefix, secret, ok
}

func hashSecret(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

// sameSecret compares in a time that does not tell how much is right.
func sameSecret(hash []byte, secret string) bool {
	return subtle.ConstantTimeCompare(hash, hashSecret(secret)) == 1
}
