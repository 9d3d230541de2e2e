-- Membership and leases. Times are the server's; every one of them is set and judged by its clock.

-- +goose Up
CREATE TABLE cluster_node (
    id             text COLLATE "C" PRIMARY KEY,
    incarnation    bigint      NOT NULL,
    roles          text[]      NOT NULL,
    address        text        NOT NULL,
    http_address   text        NOT NULL,
    version        text        NOT NULL,
    ready          boolean     NOT NULL,
    phase          text        NOT NULL DEFAULT '',
    unflushed_rows bigint      NOT NULL DEFAULT 0,
    started_at     timestamptz NOT NULL,
    heartbeat_at   timestamptz NOT NULL,
    ready_at       timestamptz -- last ready heartbeat under this id, of whatever incarnation
);

-- One row. version counts every write and is what writers compare; epoch counts the lists.
CREATE TABLE cluster_view (
    singleton       boolean     PRIMARY KEY DEFAULT true CHECK (singleton),
    version         bigint      NOT NULL,
    epoch           bigint      NOT NULL,
    algo            integer     NOT NULL,
    members         jsonb       NOT NULL,
    observed_at     timestamptz NOT NULL,
    reachable_since timestamptz NOT NULL
);
INSERT INTO cluster_view (version, epoch, algo, members, observed_at, reachable_since) VALUES (0, 0, 1, '[]', now(), now());

CREATE TABLE cluster_drain (
    node           text COLLATE "C" PRIMARY KEY,
    incarnation    bigint      NOT NULL,
    phase          text        NOT NULL DEFAULT '',
    unflushed_rows bigint      NOT NULL DEFAULT 0,
    requested_at   timestamptz NOT NULL,
    updated_at     timestamptz NOT NULL,
    ended_at       timestamptz
);

CREATE TABLE work_lease (
    work       text COLLATE "C" NOT NULL,
    item       text COLLATE "C" NOT NULL,
    holder     text             NOT NULL,
    token      text             NOT NULL,
    expires_at timestamptz      NOT NULL,
    PRIMARY KEY (work, item)
);
