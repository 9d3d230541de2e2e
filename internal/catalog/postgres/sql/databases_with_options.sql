SELECT id, org, name, options, created_at FROM databases WHERE options <> '{}' ORDER BY org, name
