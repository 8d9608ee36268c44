"""A reranker as another package would add it: candidates whose length is near the source's are better."""

from btr.rerankers.base import Reranker


class Shortest(Reranker):
    """The score falls with each word that a candidate has more or less than its source."""

    kind = "shortest"
    title = "Shortest"
    needs_model = False
    signature = "shortest|version:1"

    def scores(self, rows):
        return [tuple(-float(abs(len(text.split()) - len(row.source.split()))) for text in row.texts) for row in rows]
