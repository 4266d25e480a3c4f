-- reads-from: 5
-- Timers of the kinds that this code knows, by when they are due: those of a newer version's kinds may be many, and due.

CREATE INDEX timer_known ON tenure.timer (due_at, job)
 WHERE kind IN ('hold', 'scheduled', 'retry', 'resume', 'wait', 'give_up');
