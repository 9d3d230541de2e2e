// Package auth finds out who is asking, for which orgs, and what they may do there.
//
// A request is one of a Principal: an actor, the orgs that the request is about, and rights. Where they come from is the Mode's matter:
// the org header alone (open, header), or a credential whose grant the header may only choose within (token).
//
// Order of checks: the credential (401), the header's form (400), the grant (403), the right (403), how many orgs there may be (400). All
// of it happens before a body is read. Answers tell nothing of what exists: an unknown, an expired and a wrong token are one error, and a
// refusal names no org.
//
// The package imports tenant, fault and clock. It must not import edges: they call it and put its errors into their protocols' dress.
package auth
