"""The harness and the context for users' tests; `shop_app` is an app as a user writes one."""
