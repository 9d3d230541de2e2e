-- docs/format/catalog.md describes the tables. Times are microseconds since the epoch in UTC, by the process's clock.
-- Differences from PostgreSQL: integers for times, AUTOINCREMENT for identities (neither reuses an id), BLOB for bytea.

-- +goose Up
CREATE TABLE counters (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counters (name, value) VALUES ('epoch', 0), ('segment', 0);

CREATE TABLE writers (
    node       TEXT    NOT NULL,
    epoch      INTEGER NOT NULL,
    address    TEXT    NOT NULL,
    started_at INTEGER NOT NULL,
    PRIMARY KEY (node, epoch)
) STRICT, WITHOUT ROWID;

CREATE TABLE databases (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    org        TEXT    NOT NULL,
    name       TEXT    NOT NULL,
    options    TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (org, name)
) STRICT;

CREATE TABLE datasets (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    database_id INTEGER NOT NULL REFERENCES databases (id) ON DELETE CASCADE,
    org         TEXT    NOT NULL,
    signal      INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    version     INTEGER NOT NULL DEFAULT 0,
    UNIQUE (database_id, signal, name)
) STRICT;

CREATE TABLE streams (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    database_id INTEGER NOT NULL REFERENCES databases (id) ON DELETE CASCADE,
    dataset_id  INTEGER NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
    signal      INTEGER NOT NULL,
    name        TEXT    NOT NULL,
    options     TEXT    NOT NULL DEFAULT '{}',
    created_at  INTEGER NOT NULL,
    UNIQUE (database_id, signal, name)
) STRICT;
CREATE INDEX streams_dataset ON streams (dataset_id);

CREATE TABLE stream_columns (
    stream_id INTEGER NOT NULL REFERENCES streams (id) ON DELETE CASCADE,
    id        INTEGER NOT NULL,
    name      BLOB    NOT NULL,
    physical  TEXT    NOT NULL,
    types     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (stream_id, id),
    UNIQUE (stream_id, name),
    UNIQUE (stream_id, physical)
) STRICT, WITHOUT ROWID;

CREATE TABLE commits (
    dataset_id INTEGER NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
    node       TEXT    NOT NULL,
    epoch      INTEGER NOT NULL,
    sequence   INTEGER NOT NULL,
    PRIMARY KEY (dataset_id, node, epoch)
) STRICT, WITHOUT ROWID;
CREATE INDEX commits_writer ON commits (node, epoch);

CREATE TABLE segments (
    id              INTEGER PRIMARY KEY,
    dataset_id      INTEGER NOT NULL, -- no reference: retired segments outlive their dataset
    org             TEXT    NOT NULL,
    object_key      TEXT    NOT NULL UNIQUE,
    bytes           INTEGER NOT NULL,
    row_count       INTEGER NOT NULL,
    min_time        INTEGER NOT NULL,
    max_time        INTEGER NOT NULL,
    partition_unit  INTEGER NOT NULL,
    partition_start INTEGER NOT NULL,
    level           INTEGER NOT NULL,
    format          INTEGER NOT NULL,
    checksum        TEXT    NOT NULL,
    row_groups      INTEGER NOT NULL,
    columns         TEXT    NOT NULL,
    index_key       TEXT    NOT NULL,
    index_bytes     INTEGER NOT NULL,
    created_at      INTEGER NOT NULL,
    retired_at      INTEGER
) STRICT;
CREATE INDEX segments_live ON segments (dataset_id, max_time) WHERE retired_at IS NULL;
CREATE INDEX segments_retired ON segments (retired_at, id) WHERE retired_at IS NOT NULL;
CREATE INDEX segments_index_key ON segments (index_key) WHERE index_key <> '';
