package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// leeway is how far clocks of signer and verifier may be apart.
const leeway = 10 * time.Second

// maxSubject bounds the subject of a token in logs.
const maxSubject = 100

// claims are what a JSON web token says: orgs (org for one), rights, the time of its end, which it must have, and whom it is about.
type claims struct {
	jwt.RegisteredClaims

	Org    string `json:"org,omitempty"`
	Orgs   words  `json:"orgs,omitempty"`
	Rights words  `json:"rights"`
}

// words is a list of texts, or one text of them with spaces between.
type words []string

// UnmarshalJSON implements json.Unmarshaler.
func (w *words) UnmarshalJSON(data []byte) error {
	var list []string
	if json.Unmarshal(data, &list) == nil {
		*w = list
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return errors.New("a list of texts is expected")
	}
	*w = strings.Fields(text)
	return nil
}

// signJWT makes a token.
func signJWT(key signingKey, s Spec, now time.Time) (string, error) {
	t := jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: s.Name, IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(s.Expires),
		},
		Orgs: s.Grant.Names(), Rights: s.Rights.Names(),
	})
	if key.ID != "" {
		t.Header["kid"] = key.ID
	}
	text, err := t.SignedString(key.Secret)
	if err != nil {
		return "", fmt.Errorf("sign a token: %w", err)
	}
	return text, nil
}

// verifyJWT checks a token and returns what it grants. HS256 is the only algorithm whatever the token says of itself.
func verifyJWT(text string, ring keyring, now func() time.Time) (Principal, error) {
	parser := jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired(),
		jwt.WithIssuedAt(), jwt.WithLeeway(leeway), jwt.WithTimeFunc(now))
	var c claims
	_, err := parser.ParseWithClaims(text, &c, func(t *jwt.Token) (any, error) {
		id, _ := t.Header["kid"].(string)
		var keys jwt.VerificationKeySet
		for _, secret := range ring.valid(id, now()) {
			keys.Keys = append(keys.Keys, secret)
		}
		if len(keys.Keys) == 0 {
			return nil, errors.New("no such key")
		}
		return keys, nil
	})
	if err != nil {
		return Principal{}, fmt.Errorf("verify a web token: %w", err)
	}
	p := Principal{Actor: "jwt " + c.subject()}
	orgs := []string(c.Orgs)
	if c.Org != "" {
		orgs = append(orgs, c.Org)
	}
	if p.Grant, err = ParseGrant(orgs); err != nil {
		return Principal{}, fmt.Errorf("read the orgs of a web token: %w", err)
	}
	if p.Rights, err = ParseRight(c.Rights); err != nil {
		return Principal{}, fmt.Errorf("read the rights of a web token: %w", err)
	}
	return p, nil
}

// subject returns the subject in a form fit for logs.
func (c *claims) subject() string {
	if c.Subject == "" {
		return "-"
	}
	return clean(c.Subject, maxSubject)
}

// clean cuts a text and takes out what is not printable.
func clean(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == '\x7f' || r == '\uFFFD' {
			return -1
		}
		return r
	}, s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "")
	}
	return s
}
