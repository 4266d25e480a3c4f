"""The dashboard, over plain HTTP."""
