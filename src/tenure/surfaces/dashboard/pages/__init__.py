"""The screens: each module has what one of them shows, and what can be done there."""
