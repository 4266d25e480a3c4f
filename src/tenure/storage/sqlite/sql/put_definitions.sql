-- Register definitions; the last one stands, or the first one unless they may be replaced. Answers with those that said something else before.

-- part: before
SELECT before.*
  FROM json_each(:definitions) given
 CROSS JOIN tenure_definition before ON before.key = given.value ->> 'key' AND before.version = given.value ->> 'version'
 WHERE before.spec <> given.value ->> 'spec'
 ORDER BY before.key, before.version;

-- part: registered
INSERT INTO tenure_definition (key, version, spec, override, registered_at, registered_by)
SELECT value ->> 'key', value ->> 'version', value ->> 'spec', value ->> 'override', :now, value ->> 'registered_by'
  FROM json_each(:definitions) WHERE true
ON CONFLICT DO UPDATE
   SET spec = excluded.spec, override = coalesce(excluded.override, override),
       registered_at = excluded.registered_at, registered_by = excluded.registered_by
 WHERE :replace OR spec = excluded.spec;
