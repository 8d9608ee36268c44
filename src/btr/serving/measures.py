"""What `/metrics` tells, in Prometheus' format."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

SECONDS = 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60
ITEMS = 1, 2, 4, 8, 16, 32, 64, 128


class Measures:
    """Counts of one server: requests, their times, batches, sentences and edits."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        own = self.registry
        self.requests = Counter("btr_requests", "Requests answered.", ["path", "status"], registry=own)
        self.seconds = Histogram("btr_request_seconds", "Time to answer.", ["path"], buckets=SECONDS, registry=own)
        self.batches = Histogram("btr_batch_items", "Paragraphs in a batch.", buckets=ITEMS, registry=own)
        self.failed = Counter(
            "btr_batches_failed", "Batches that failed, and whose paragraphs were tried one by one.", registry=own
        )
        self.working = Histogram(
            "btr_batch_seconds", "Time that the models took for a batch.", buckets=SECONDS, registry=own
        )
        self.sentences = Counter("btr_sentences", "Sentences read.", registry=own)
        self.edits = Counter("btr_edits", "Edits made.", registry=own)
        self.open = Gauge("btr_requests_open", "Requests running or waiting.", registry=own)

    def write(self) -> bytes:
        """All of it, as text."""
        return generate_latest(self.registry)
