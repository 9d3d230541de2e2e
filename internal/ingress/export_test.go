package ingress

import "io"

// ReadAll reads a body as every request that must be whole is read.
func (f *Front) ReadAll(body io.Reader, encoding string) ([]byte, error) {
	h := f.hold("a")
	defer h.release()
	return f.readAll(h, body, encoding)
}
