"""Metrics that handlers report: calls of other services, uploads, images, and their own counters."""

from tenure.execution.handler import metrics
from tenure.telemetry.metrics.instruments import Counter, Histogram, Instrument, Labels, Names

CALLS = (0.1, 0.3, 0.5, 1, 2, 5, 10)
OBJECT_CALLS = (0.1, 0.3, 0.5, 1, 3, 5, 7, 10)
SIZES = tuple(2**n for n in range(10, 21))
ANY_SIZE = tuple(float(f"1e{n}") for n in range(-3, 10))


class HandlerMetrics:
    """The families that only handlers report."""

    def __init__(self, names: Names) -> None:
        self._names = names
        self._images = Counter(
            "image_processing_errors_total", "Images that could not be processed.", "error_type"
        )
        self._s3 = Histogram(
            *("s3_operation_duration_seconds", "How long calls of S3 took.", "operation", "bucket"),
            bounds=OBJECT_CALLS,
        )
        self._s3_errors = Counter(
            *("s3_operation_errors_total", "Calls of S3 that failed."),
            *("operation", "bucket", "error_code"),
        )
        self._cloudfront = Histogram(
            *("cloudfront_operation_duration_seconds", "How long calls of CloudFront took.", "operation"),
            bounds=OBJECT_CALLS,
        )
        self._cloudfront_errors = Counter(
            "cloudfront_operation_errors_total", "Calls of CloudFront that failed.", "operation", "error_code"
        )
        self._counted = Counter(
            "job_custom_total", "What handlers count by a name of their own.", "job_type", "name"
        )
        self._observed = Histogram(
            *("job_custom_value", "What handlers observe under a name of their own.", "job_type", "name"),
            bounds=ANY_SIZE,
        )
        self.external = ExternalCalls()

    @property
    def instruments(self) -> list[Instrument]:
        """All of them."""
        return [
            *(self._images, self._s3, self._s3_errors, self._cloudfront, self._cloudfront_errors),
            *(self._counted, self._observed),
            *self.external.instruments,
        ]

    def take(self, definition: str, what: str, labels: Labels, value: float) -> None:
        """Count a measurement."""
        match what, labels:
            case metrics.CALLED, (service, operation, thing, error_code):
                self.external.called(service, operation, value, error_code)
                self._called(service, operation, thing, error_code, value)
            case metrics.UPLOADED, (mime_type,):
                self.external.uploaded(mime_type, value)
            case metrics.IMAGE_FAILED, (kind,):
                self._images.add((kind,))
            case metrics.COUNTED, (name,):
                self._counted.add((self._names.of(definition), name), value)
            case metrics.OBSERVED, (name,):
                self._observed.observe((self._names.of(definition), name), value)

    def _called(self, service: str, operation: str, bucket: str, error_code: str, seconds: float) -> None:
        if service == "s3":
            self._s3.observe((operation, bucket), seconds)
            if error_code:
                self._s3_errors.add((operation, bucket, error_code))
        elif service == "cloudfront":
            self._cloudfront.observe((operation,), seconds)
            if error_code:
                self._cloudfront_errors.add((operation, error_code))


class ExternalCalls:
    """Calls of other services and uploads, in workers and in the API."""

    def __init__(self) -> None:
        self._duration = Histogram(
            *("external_duration_seconds", "How long calls of other services took.", "service", "operation"),
            bounds=CALLS,
        )
        self._errors = Counter(
            *("external_error_total", "Calls of other services that failed."),
            *("service", "operation", "error_code"),
        )
        self._uploads = Histogram(
            "upload_size_bytes", "How large what was sent here is.", "mime_type", bounds=SIZES
        )

    @property
    def instruments(self) -> list[Instrument]:
        """All of them."""
        return [self._duration, self._errors, self._uploads]

    def called(self, service: str, operation: str, seconds: float, error_code: str) -> None:
        """Count a call that has ended; without an error code it succeeded."""
        self._duration.observe((service, operation), seconds)
        if error_code:
            self._errors.add((service, operation, error_code))

    def uploaded(self, mime_type: str, size: float) -> None:
        """Count an upload."""
        self._uploads.observe((mime_type,), size)
