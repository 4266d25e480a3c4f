"""When schedules fire: cron expressions, intervals, time zones, and what to do about missed runs."""
