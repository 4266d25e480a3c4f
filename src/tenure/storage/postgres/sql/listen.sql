-- A hint for the processes that listen; sent after the commit it speaks of.
SELECT pg_notify('tenure', :hint::text);
