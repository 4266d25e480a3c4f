"""`tenure schedules`, which lists schedules, shows and changes them, and `tenure scheduler`, which fires them."""
