-- The id of the store itself: made with the schema, and never changed.
SELECT id FROM tenure_store;
