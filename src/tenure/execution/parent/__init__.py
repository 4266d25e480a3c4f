"""The worker's side: starts attempts, reads their reports, stops them."""
