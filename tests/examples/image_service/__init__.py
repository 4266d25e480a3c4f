"""The image service: its processes on real databases, and moto's server for S3, SQS and CloudFront."""
