-- Every limit and key that jobs have named, and how many run under it.
SELECT name, key, size, held FROM tenure_limited JOIN tenure_limit_size USING (name) ORDER BY name, key;
