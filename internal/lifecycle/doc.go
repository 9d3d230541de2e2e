// Package lifecycle starts the parts of a process in order and stops them in reverse: the one way to start and to stop.
//
// A Stage starts, runs and stops. Run returns only when every stage that was started has been stopped. Stopping has one deadline
// for all; a stage that passes its share is named in the log and the next one is stopped all the same.
//
// The package imports the standard library alone.
package lifecycle
