"""What every surface calls: record jobs, read them, wait for them, change them."""
