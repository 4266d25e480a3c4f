-- The store's time.
SELECT tenure.now() AS now;
