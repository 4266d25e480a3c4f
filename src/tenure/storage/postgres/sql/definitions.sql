-- Every definition that was registered.
SELECT key, version, spec, override, registered_at, registered_by FROM tenure.definition
 ORDER BY key COLLATE "C", version;
