INSERT INTO secrets (name, sealed) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING
