-- Register definitions; the last one stands, or the first one unless they may be replaced. Answers with those that said something else before.
WITH
given AS MATERIALIZED (
    SELECT * FROM unnest(:keys::text[], :versions::integer[], :specs::text[], :overrides::text[], :by::text[])
                  AS given (key, version, spec, override, registered_by)
),
before AS MATERIALIZED (
    SELECT definition.* FROM given JOIN tenure.definition USING (key, version) WHERE definition.spec <> given.spec
),
registered AS (
    INSERT INTO tenure.definition (key, version, spec, override, registered_at, registered_by)
    SELECT key, version, spec, override, tenure.now(), registered_by FROM given ORDER BY key, version
    ON CONFLICT (key, version) DO UPDATE
       SET spec = excluded.spec, override = coalesce(excluded.override, definition.override),
           registered_at = excluded.registered_at, registered_by = excluded.registered_by
     WHERE :replace::boolean OR definition.spec = excluded.spec
)
SELECT * FROM before ORDER BY key COLLATE "C", version;
