"""What worker, zygote and child send each other."""
