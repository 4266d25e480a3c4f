-- The store's time.
SELECT :now AS now;
