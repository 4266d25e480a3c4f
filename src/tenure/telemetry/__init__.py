"""What a process measures of itself: subscribers of signals, and what they count in Prometheus' words."""
