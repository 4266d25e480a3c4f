"""The actions behind the buttons and forms of pages."""
