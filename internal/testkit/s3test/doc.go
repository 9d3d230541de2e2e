// Package s3test gives tests a real S3 server: versitygw, the gateway pinned in test/s3server and built by make into .tools.
//
// Start gives a test a private server with one empty bucket over a temporary folder; it keeps its data, port and keys over Stop,
// Kill and Start. Without the built program a test is skipped with a line that says how to build it; when CI is set it fails
// instead. Test code only: nothing outside _test.go files and test/ may import it.
package s3test
