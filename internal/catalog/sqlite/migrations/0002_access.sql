-- +goose Up
INSERT INTO counters (name, value) VALUES ('access', 0);

CREATE TABLE secrets (
    name   TEXT PRIMARY KEY,
    sealed BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE tokens (
    prefix     TEXT    PRIMARY KEY,
    hash       BLOB    NOT NULL,
    name       TEXT    NOT NULL,
    orgs       TEXT    NOT NULL,
    rights     TEXT    NOT NULL,
    created_by TEXT    NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    used_at    INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE changes (
    id     INTEGER PRIMARY KEY AUTOINCREMENT,
    at     INTEGER NOT NULL,
    actor  TEXT    NOT NULL,
    action TEXT    NOT NULL,
    org    TEXT    NOT NULL,
    object TEXT    NOT NULL,
    detail TEXT    NOT NULL
) STRICT;
