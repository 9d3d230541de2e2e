// Package writelimits holds the limits of writes against the real server, as operators set them and clients meet them.
package writelimits
