"""The vocabularies of other descriptions, at the edge: the core knows none of them."""
