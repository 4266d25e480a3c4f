SELECT id AS n, at, request, key, who, action, target, outcome
  FROM tenure.audit
 WHERE id < :before::bigint
 ORDER BY id DESC
 LIMIT :limit::integer;
