"""`tenure schedules`, which shows schedules and changes them, and `tenure scheduler`, which fires them."""
