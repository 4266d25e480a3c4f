"""Plain values and the checks that bound them: documents, ids, texts, traces."""
