"""Messages by a real server of SQS's protocol, which runs beside the tests."""
