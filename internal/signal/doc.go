// Package signal holds the values that travel from the wire to the file: the name of a stream, and a batch of its rows as one
// Apache Arrow record.
//
// There is one row format. Decoders append into a Builder, whose Finish hands over an Arrow record; the write-ahead log, the
// buffers, the Parquet writer and the copy that a query makes of fresh rows all read that record. A second row format needs an ADR.
//
// # Shape of a record
//
// The first column is [TimeColumn], timestamp[us, UTC] without nulls. If any row has digits below a microsecond the second
// column is [NanosColumn], int16, 0 to 999. The other columns follow in order of first sight. A field whose values have several
// types in one batch has several columns of the same name, one a type ("variants"); at most one of them is not null in a row.
// Nothing is converted on the way in: what a field of several types reads as is decided by the stream's schema at query time
// (docs/format/schema.md).
//
// # Names
//
// Names of ours begin with an underscore. A user's field of such a name is stored as "_user" + name ([Builder.Column] does so).
//
// The package must not import anything of the project but tenant and fault.
package signal
