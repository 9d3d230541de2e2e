-- Times are the server's. docs/operate/write-limits.md says what the tables are for.

-- +goose Up
CREATE TABLE quota_budget (
    kind           text        NOT NULL,
    org            text        NOT NULL,
    name           text        NOT NULL, -- of the database; empty for budgets of an org
    epoch          bigint      NOT NULL, -- of the last division, from 1
    divided        bigint      NOT NULL, -- the limit that was divided
    divided_at     timestamptz NOT NULL, -- when it was computed, or found to be right, last
    learning_until timestamptz,          -- frontends that are silent keep their shares until then
    PRIMARY KEY (kind, org, name)
);

CREATE TABLE quota_report (
    kind        text        NOT NULL,
    org         text        NOT NULL,
    name        text        NOT NULL,
    frontend    text        NOT NULL,
    incarnation bigint      NOT NULL,
    accepted    bigint      NOT NULL, -- since the start of the process, as is refused
    refused     bigint      NOT NULL,
    load        bigint      NOT NULL,
    is_new      boolean     NOT NULL, -- load says nothing yet
    debt        bigint      NOT NULL,
    limit_seen  bigint      NOT NULL,
    quota       bigint      NOT NULL, -- in force, 0 = the whole limit
    epoch       bigint      NOT NULL, -- of the division in force, 0 = none
    reported_at timestamptz NOT NULL,
    PRIMARY KEY (kind, org, name, frontend)
);
CREATE INDEX quota_report_frontend ON quota_report (frontend);

CREATE TABLE quota_grant (
    kind        text   NOT NULL,
    org         text   NOT NULL,
    name        text   NOT NULL,
    frontend    text   NOT NULL,
    incarnation bigint NOT NULL,
    quota       bigint NOT NULL,
    PRIMARY KEY (kind, org, name, frontend)
);
CREATE INDEX quota_grant_frontend ON quota_grant (frontend);

-- +goose Down
DROP TABLE quota_grant, quota_report, quota_budget;
