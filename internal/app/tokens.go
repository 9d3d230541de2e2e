package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/config"
)

// startTokens reads the tokens. The process that makes the first one prints it; it is told nowhere else and never again.
func (n *node) startTokens(ctx context.Context) error {
	c, err := cipherOf(n.config)
	if err != nil {
		return err
	}
	n.tokens, err = auth.NewVerifier(ctx, auth.Options{
		Store: n.catalog, Cipher: c, PinnedSecret: n.config.Auth.JWTSecretOverride.Reveal(), Logger: n.component("auth"), Registerer: n.metrics,
		Announce: func(token string) {
			n.component("auth").Warn("the first admin token was made; it is not shown again", "token", token)
			fmt.Fprintln(n.out, "first admin token:", token)
		},
	})
	if err != nil {
		return fmt.Errorf("read the tokens: %w", err)
	}
	return nil
}

func (n *node) runTokens(ctx context.Context) error { return n.tokens.Run(ctx) }

func (n *node) stopTokens(ctx context.Context) error {
	if n.tokens != nil {
		n.tokens.Touch(ctx)
	}
	return nil
}

// authenticator finds out who sends requests.
func (n *node) authenticator() *auth.Authenticator {
	if n.tokens != nil {
		return auth.NewToken(n.tokens)
	}
	return auth.New(auth.Mode(n.config.Auth.Mode))
}

// registry makes and revokes tokens, in every mode: they can be made before the mode is changed.
func (n *node) registry() (*auth.Registry, error) {
	var c *auth.Cipher
	if n.tokens != nil {
		var err error
		if c, err = cipherOf(n.config); err != nil {
			return nil, err
		}
	}
	r := auth.NewRegistry(n.catalog, c, n.config.Auth.JWTSecretOverride.Reveal(), n.component("audit"), nil)
	r.Tell(n.tokens)
	return r, nil
}

// OpenRegistry opens the registry of tokens where no server needs to run, on the catalog that the settings name. The caller calls closing.
func OpenRegistry(ctx context.Context, c *config.Config, logger *slog.Logger) (r *auth.Registry, closing func() error, err error) {
	p := newPlatform(c, logger)
	if err := p.openCatalog(ctx); err != nil {
		return nil, nil, err
	}
	key, err := readCipherKey(c)
	if err != nil {
		return nil, nil, errors.Join(err, p.close())
	}
	var cipher *auth.Cipher
	if key != "" {
		if cipher, err = auth.NewCipher(key); err != nil {
			return nil, nil, errors.Join(err, p.close())
		}
	}
	return auth.NewRegistry(p.catalog, cipher, c.Auth.JWTSecretOverride.Reveal(), logger, nil), p.close, nil
}

// cipherOf returns the cipher of stored secrets. Standalone makes its key when there is none.
func cipherOf(c *config.Config) (*auth.Cipher, error) {
	key, err := readCipherKey(c)
	if err == nil && key == "" {
		key, err = makeCipherKey(cipherFile(c))
	}
	if err != nil {
		return nil, err
	}
	cipher, err := auth.NewCipher(key)
	if err != nil {
		return nil, fmt.Errorf("MS_CIPHER_KEY: %w", err)
	}
	return cipher, nil
}

func cipherFile(c *config.Config) string { return filepath.Join(c.Node.DataDir, "cipher.key") }

// readCipherKey returns the key of the settings, else that of the data directory, "" when there is none.
func readCipherKey(c *config.Config) (string, error) {
	if c.CipherKey.IsSet() {
		return c.CipherKey.Reveal(), nil
	}
	text, err := os.ReadFile(cipherFile(c))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the cipher key: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// makeCipherKey writes a new key to a file that its owner alone may read, whole or not at all.
func makeCipherKey(path string) (key string, err error) {
	key = rand.Text()
	part := path + ".part"
	f, err := os.OpenFile(part, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return "", fmt.Errorf("make the cipher key: %w", err)
	}
	_, err = f.WriteString(key + "\n")
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(part, path)
	}
	if err == nil {
		err = syncDir(filepath.Dir(path))
	}
	if err != nil {
		return "", fmt.Errorf("make the cipher key: %w", err)
	}
	return key, nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
