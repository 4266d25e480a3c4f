"""Spans of attempts and requests, and their export by OTLP."""
