"""Pages for people: what there is, what is stuck, and why; and buttons to put it right."""
