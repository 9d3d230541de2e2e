package promapi

// Failure is the answer for an error that happened before a question was answered, in the API's own dress.
func Failure(err error) Answer { return failure(err) }
