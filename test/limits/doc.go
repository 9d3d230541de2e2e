// Package limits holds tests of limits against running processes: what is in force, at which bytes and requests it refuses, how changes of
// the overrides file arrive under load, and what many or loud orgs cost the others.
package limits
