"""Forms: fields from the schema of params, and from what was sent in them the document."""
