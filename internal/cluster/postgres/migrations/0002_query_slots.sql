-- How many queries a node runs at once, for the routers' queues; 0 of nodes that run none or do not say.

-- +goose Up
ALTER TABLE cluster_node ADD COLUMN query_slots integer NOT NULL DEFAULT 0;
