"""What must hold after any run, one small function each, named after its number.

A function reads the casebook and yields what it finds broken. What it cannot see from evidence is proved
elsewhere; docs/reference/invariants.md says where.
"""
