"""What a call is made of: its route, its request and caller, how they are read, and its problems."""
