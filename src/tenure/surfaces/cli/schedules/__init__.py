"""`tenure schedules`: lists schedules, shows them, and changes them."""
