SELECT * FROM tenure.schedule WHERE namespace = :namespace::text AND name = :name::text;
