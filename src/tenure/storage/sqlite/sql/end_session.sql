DELETE FROM tenure_session WHERE digest = :digest;
