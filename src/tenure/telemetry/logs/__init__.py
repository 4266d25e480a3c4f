"""What a process writes about its work."""
