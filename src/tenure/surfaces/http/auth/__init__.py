"""Authentication, authorization and audit; they read the store's access port directly, not the client."""
