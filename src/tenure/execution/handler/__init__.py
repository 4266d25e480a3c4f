"""What handlers are given and use: context, metrics, traces, programs."""
