-- The id of the store itself: made with the schema, and anew after a restore.
SELECT id FROM tenure_store;
