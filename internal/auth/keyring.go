package auth

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// signingPurpose binds the sealed keyring to its use.
const signingPurpose = "jwt"

// keyring is the secrets that sign JSON web tokens: the first one signs, all of them verify until they end.
type keyring struct {
	Keys []signingKey `json:"keys"`
}

type signingKey struct {
	ID     string    `json:"id"`
	Secret []byte    `json:"secret"`
	Until  time.Time `json:"until,omitzero"` // zero: the current one
}

func newSigningKey() signingKey {
	random := make([]byte, 4+32)
	_, _ = rand.Read(random) // it never fails: the program would end
	return signingKey{ID: hex.EncodeToString(random[:4]), Secret: random[4:]}
}

// rotated returns the ring with a new first key. The others go on verifying until the grace has passed, or earlier as they were to.
func (r keyring) rotated(now time.Time, grace time.Duration) keyring {
	out := keyring{Keys: []signingKey{newSigningKey()}}
	for _, k := range r.Keys {
		if end := now.Add(grace); k.Until.IsZero() || k.Until.After(end) {
			k.Until = end
		}
		if k.Until.After(now) {
			out.Keys = append(out.Keys, k)
		}
	}
	return out
}

// current returns the key that signs.
func (r keyring) current() (signingKey, bool) {
	if len(r.Keys) == 0 {
		return signingKey{}, false
	}
	return r.Keys[0], true
}

// valid returns the secrets that verify a token made under a key id; all of them when it names none.
func (r keyring) valid(id string, now time.Time) [][]byte {
	var out [][]byte
	for _, k := range r.Keys {
		if (id == "" || k.ID == "" || k.ID == id) && (k.Until.IsZero() || now.Before(k.Until)) {
			out = append(out, k.Secret)
		}
	}
	return out
}

func (r keyring) seal(c *Cipher) ([]byte, error) {
	plain, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write the signing keys: %w", err)
	}
	return c.seal(plain, signingPurpose), nil
}

func openKeyring(c *Cipher, sealed []byte) (r keyring, err error) {
	plain, err := c.open(sealed, signingPurpose)
	if err != nil {
		return r, fmt.Errorf("read the signing keys: %w", err)
	}
	if err := json.Unmarshal(plain, &r); err != nil {
		return r, fmt.Errorf("read the signing keys: %w", err)
	}
	return r, nil
}
