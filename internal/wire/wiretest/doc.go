// Package wiretest helps to test decoders: it collects what they emit and shows it as rows. Test code only.
package wiretest
