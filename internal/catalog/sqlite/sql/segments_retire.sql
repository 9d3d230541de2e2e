-- the plus keeps the planner from walking all live segments of the dataset: the numbers are the narrower choice
UPDATE segments SET retired_at = ?3
WHERE id IN (SELECT value FROM json_each(?2)) AND +dataset_id = ?1 AND retired_at IS NULL
