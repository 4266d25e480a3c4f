"""From a request to its handler and back: routing, decoding, problems."""
