package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/millstream/millstream/internal/fault"
)

// MinCipherKeyBytes is the shortest key that secrets may be kept under.
const MinCipherKeyBytes = 16

// sealVersion begins a sealed secret: AES-256-GCM, a nonce of 12 bytes, then ciphertext and tag.
const sealVersion = 1

// Cipher seals secrets that are stored, under MS_CIPHER_KEY.
type Cipher struct{ aead cipher.AEAD }

// NewCipher derives a cipher from a key text of at least MinCipherKeyBytes.
func NewCipher(key string) (*Cipher, error) {
	if len(key) < MinCipherKeyBytes {
		return nil, fault.New(fault.Invalid, "the key is shorter than %d bytes", MinCipherKeyBytes)
	}
	derived, err := hkdf.Key(sha256.New, []byte(key), nil, "millstream secrets", 32)
	if err != nil {
		return nil, fmt.Errorf("derive a key: %w", err)
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, fmt.Errorf("make a cipher: %w", err)
	}
	return &Cipher{aead: aead}, nil
}

// seal encrypts a secret for a purpose; only open with the same purpose reads it.
func (c *Cipher) seal(plain []byte, purpose string) []byte {
	sealed := make([]byte, 1+c.aead.NonceSize(), 1+c.aead.NonceSize()+len(plain)+c.aead.Overhead())
	sealed[0] = sealVersion
	_, _ = rand.Read(sealed[1:]) // it never fails: the program would end
	return c.aead.Seal(sealed, sealed[1:], plain, []byte(purpose))
}

var errWrongKey = errors.New("the key is not the one that the stored secrets were encrypted with, or they are damaged")

func (c *Cipher) open(sealed []byte, purpose string) ([]byte, error) {
	n := 1 + c.aead.NonceSize()
	if len(sealed) < n || sealed[0] != sealVersion {
		return nil, errWrongKey
	}
	plain, err := c.aead.Open(nil, sealed[1:n], sealed[n:], []byte(purpose))
	if err != nil {
		return nil, errWrongKey
	}
	return plain, nil
}
