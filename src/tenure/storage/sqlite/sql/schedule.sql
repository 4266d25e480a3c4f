SELECT * FROM tenure_schedule WHERE namespace = :namespace AND name = :name;
