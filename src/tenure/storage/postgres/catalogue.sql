-- What the schema is made of, one line a thing. Partitions come and go and are left out, and so is what is not valid.
WITH ours AS (
    SELECT oid FROM pg_namespace WHERE nspname = 'tenure'
),
relations AS (
    SELECT pg_class.* FROM pg_class JOIN ours ON ours.oid = relnamespace WHERE NOT relispartition
)
SELECT 'type ' || typname || ' (' || string_agg(enumlabel, ', ' ORDER BY enumsortorder) || ')'
  FROM pg_enum
  JOIN pg_type ON pg_type.oid = enumtypid
  JOIN ours ON ours.oid = typnamespace
 GROUP BY typname
 UNION ALL
SELECT CASE relkind WHEN 'S' THEN 'sequence ' WHEN 'v' THEN 'view ' WHEN 'm' THEN 'view ' ELSE 'table ' END || relname
  FROM relations
 WHERE relkind IN ('r', 'p', 'S', 'v', 'm')
 UNION ALL
SELECT 'column ' || relname || '.' || attname || ' ' || format_type(atttypid, atttypmod)
       || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END
  FROM pg_attribute
  JOIN relations ON relations.oid = attrelid
 WHERE relkind IN ('r', 'p') AND attnum > 0 AND NOT attisdropped
 UNION ALL
SELECT 'constraint ' || relname || '.' || conname
  FROM pg_constraint
  JOIN relations ON relations.oid = conrelid
 WHERE contype IN ('c', 'f', 'p', 't', 'u', 'x') AND convalidated
 UNION ALL
SELECT 'index ' || relname || ' on ' || substring(pg_get_indexdef(indexrelid) FROM ' ON (.*)$')
       || CASE WHEN indisunique THEN ' unique' ELSE '' END
  FROM pg_index
  JOIN relations ON relations.oid = indexrelid
 WHERE indisvalid
 UNION ALL
SELECT 'function ' || proname || '(' || pg_get_function_identity_arguments(pg_proc.oid) || ')'
  FROM pg_proc
  JOIN ours ON ours.oid = pronamespace;
