"""A worker: claims jobs, runs attempts, keeps leases alive, settles."""
