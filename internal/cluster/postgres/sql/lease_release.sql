DELETE FROM work_lease WHERE work = $1 AND item = $2 AND token = $3
