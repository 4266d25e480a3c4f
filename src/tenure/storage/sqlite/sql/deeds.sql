SELECT id AS n, at, request, key, who, action, target, outcome
  FROM tenure_audit
 WHERE id < :before
 ORDER BY id DESC
 LIMIT :limit;
