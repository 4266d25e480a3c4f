"""What the worker answers an attempt that has asked something, and how."""
