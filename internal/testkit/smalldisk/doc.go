// Package smalldisk runs a test on a small file system of its own, so that it can fill the disk.
//
// The test binary starts itself again in a mount namespace in which a temporary folder is a tmpfs of the asked size; nothing outside
// sees the mount and it ends with the process. Test code only: nothing outside _test.go files and test/ may import it. It imports
// nothing of the project.
package smalldisk
