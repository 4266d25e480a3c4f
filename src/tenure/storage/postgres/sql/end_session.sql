DELETE FROM tenure.session WHERE digest = :digest::bytea;
