-- docs/format/catalog.md describes the tables. Times are the server's.
-- Differences from SQLite: timestamptz for times, identity columns, bytea for names that may hold NUL; names sort by bytes
-- (COLLATE "C"), as SQLite's do.

-- +goose Up
CREATE TABLE counters (
    name  text PRIMARY KEY,
    value bigint NOT NULL
);
INSERT INTO counters (name, value) VALUES ('epoch', 0), ('segment', 0);

CREATE TABLE writers (
    node       text COLLATE "C" NOT NULL,
    epoch      bigint           NOT NULL,
    address    text             NOT NULL,
    started_at timestamptz      NOT NULL,
    PRIMARY KEY (node, epoch)
);

CREATE TABLE databases (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    org        text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    options    text             NOT NULL,
    created_at timestamptz      NOT NULL,
    UNIQUE (org, name)
);

CREATE TABLE datasets (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    database_id bigint           NOT NULL REFERENCES databases (id) ON DELETE CASCADE,
    org         text COLLATE "C" NOT NULL,
    signal      smallint         NOT NULL,
    name        text COLLATE "C" NOT NULL,
    version     bigint           NOT NULL DEFAULT 0,
    UNIQUE (database_id, signal, name)
);

CREATE TABLE streams (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    database_id bigint           NOT NULL REFERENCES databases (id) ON DELETE CASCADE,
    dataset_id  bigint           NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
    signal      smallint         NOT NULL,
    name        text COLLATE "C" NOT NULL,
    options     text             NOT NULL DEFAULT '{}',
    created_at  timestamptz      NOT NULL,
    UNIQUE (database_id, signal, name)
);
CREATE INDEX streams_dataset ON streams (dataset_id);

CREATE TABLE stream_columns (
    stream_id bigint           NOT NULL REFERENCES streams (id) ON DELETE CASCADE,
    id        integer          NOT NULL,
    name      bytea            NOT NULL,
    physical  text COLLATE "C" NOT NULL,
    types     smallint         NOT NULL DEFAULT 0,
    PRIMARY KEY (stream_id, id)
);

CREATE TABLE commits (
    dataset_id bigint           NOT NULL REFERENCES datasets (id) ON DELETE CASCADE,
    node       text COLLATE "C" NOT NULL,
    epoch      bigint           NOT NULL,
    sequence   bigint           NOT NULL,
    PRIMARY KEY (dataset_id, node, epoch)
);
CREATE INDEX commits_writer ON commits (node, epoch);

CREATE TABLE segments (
    id              bigint PRIMARY KEY,
    dataset_id      bigint           NOT NULL, -- no reference: retired segments outlive their dataset
    org             text COLLATE "C" NOT NULL,
    object_key      text COLLATE "C" NOT NULL UNIQUE,
    bytes           bigint           NOT NULL,
    row_count       bigint           NOT NULL,
    min_time        bigint           NOT NULL,
    max_time        bigint           NOT NULL,
    partition_unit  smallint         NOT NULL,
    partition_start bigint           NOT NULL,
    level           integer          NOT NULL,
    format          integer          NOT NULL,
    checksum        text             NOT NULL,
    row_groups      integer          NOT NULL,
    columns         text             NOT NULL,
    index_key       text COLLATE "C" NOT NULL,
    index_bytes     bigint           NOT NULL,
    created_at      timestamptz      NOT NULL,
    retired_at      timestamptz
);
CREATE INDEX segments_live ON segments (dataset_id, max_time) WHERE retired_at IS NULL;
CREATE INDEX segments_retired ON segments (retired_at, id) WHERE retired_at IS NOT NULL;
CREATE INDEX segments_index_key ON segments (index_key) WHERE index_key <> '';
