-- What the database is made of, one line a thing: tables, columns and indexes.
WITH tables AS (
    SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'tenure_*'
)
SELECT 'table ' || name FROM tables
 UNION ALL
SELECT 'column ' || tables.name || '.' || part.name || ' ' || part.type || iif(part."notnull", ' NOT NULL', '')
  FROM tables, pragma_table_xinfo(tables.name) AS part
 UNION ALL
SELECT 'index ' || listed.name || ' on ' || tables.name || ' ('
       || (SELECT group_concat(coalesce(name, 'expression'), ', ') FROM pragma_index_info(listed.name)) || ')'
       || iif(listed."unique", ' unique', '') || iif(listed.partial, ' partial', '')
  FROM tables, pragma_index_list(tables.name) AS listed;
