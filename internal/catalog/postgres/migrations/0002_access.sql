-- +goose Up
INSERT INTO counters (name, value) VALUES ('access', 0);

CREATE TABLE secrets (
    name   text PRIMARY KEY,
    sealed bytea NOT NULL
);

CREATE TABLE tokens (
    prefix     text COLLATE "C" PRIMARY KEY,
    hash       bytea            NOT NULL,
    name       text             NOT NULL,
    orgs       text             NOT NULL,
    rights     text             NOT NULL,
    created_by text             NOT NULL,
    created_at timestamptz      NOT NULL,
    expires_at timestamptz,
    used_at    timestamptz
);

CREATE TABLE changes (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     timestamptz NOT NULL,
    actor  text        NOT NULL,
    action text        NOT NULL,
    org    text        NOT NULL,
    object text        NOT NULL,
    detail text        NOT NULL
);
