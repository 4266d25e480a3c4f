"""The store in an SQLite file: every moving verb is one short transaction of the one writer."""
