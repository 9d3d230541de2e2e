// Package hostile sends requests that try to read or write what is another org's, over every route of the API, and compares: no answer to
// one org ever holds a word of the other, and the other's data is the same afterwards.
//
// Routes come from the server's own router, so a new one is attacked as soon as it is there, and must say in access which kind it is.
// Requests are drawn with a fixed seed from lists of credentials, org headers, names, statements and bodies; some are sent in all
// combinations.
package hostile
