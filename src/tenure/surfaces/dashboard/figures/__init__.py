"""Drawings for pages: where the bars and lines of a chart stand, in per cent of its room."""
