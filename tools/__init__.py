"""Scripts that write the generated files; each prints nothing when all is well."""
