"""The child's side: runs handlers, alone or one after another."""
