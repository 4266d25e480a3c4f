INSERT INTO tenure_audit (at, request, key, who, action, target, outcome)
VALUES (:now, :request, :key, :who, :action, :target, :outcome)
RETURNING id AS n;
