"""The pages: each module collects what one of them shows."""
