"""Workers and clients on a store: claims, leases, outcomes, waiting."""
