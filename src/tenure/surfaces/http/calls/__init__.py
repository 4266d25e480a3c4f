"""The handlers of the routes, and the tables that list them."""
