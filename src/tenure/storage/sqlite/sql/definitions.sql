-- Every definition that was registered.
SELECT key, version, spec, override, registered_at, registered_by FROM tenure_definition ORDER BY key, version;
