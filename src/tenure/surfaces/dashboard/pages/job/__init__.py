"""One job in every state: each module collects what one part of its page shows."""
