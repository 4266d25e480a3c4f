-- A hint for whoever listens; sent after the commit it speaks of.
SELECT pg_notify('tenure', :hint::text);
