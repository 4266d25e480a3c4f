"""The harness and the context for users' tests; `shop` is an app as a user writes one."""
