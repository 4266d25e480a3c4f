"""The job and its life: states, leases, outcomes, retries, policies."""
