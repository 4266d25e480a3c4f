"""An agent on Tenure: it plans, calls tools, waits for approval, and goes on wherever it was stopped."""
