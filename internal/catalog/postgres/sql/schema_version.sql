SELECT coalesce(max(version_id), 0) FROM catalog_version WHERE is_applied
