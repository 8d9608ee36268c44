"""The counts and times of a server for `/metrics`, in the format of Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60
ITEMS = 1, 2, 4, 8, 16, 32, 64, 128


class Monitoring:
    """Counts of one server: requests, their times, batches, sentences and edits."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        self.requests = Counter("btr_requests", "Requests answered.", ["path", "status"], registry=registry)
        self.request_seconds = Histogram(
            "btr_request_seconds", "Time to answer a request.", ["path"], buckets=SECONDS, registry=registry
        )
        self.batch_items = Histogram("btr_batch_items", "Paragraphs per batch.", buckets=ITEMS, registry=registry)
        self.failed_batches = Counter(
            "btr_batches_failed", "Batches that failed, so that each paragraph was tried alone.", registry=registry
        )
        self.batch_seconds = Histogram(
            "btr_batch_seconds", "Time that the models need for a batch.", buckets=SECONDS, registry=registry
        )
        self.sentences = Counter("btr_sentences", "Sentences read.", registry=registry)
        self.edits = Counter("btr_edits", "Edits made.", registry=registry)
        self.open_requests = Gauge("btr_requests_open", "Requests running or waiting.", registry=registry)

    def to_text(self) -> bytes:
        """Return all counts as `/metrics` shows them."""
        return generate_latest(self.registry)
