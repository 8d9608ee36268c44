"""Log-probabilities of texts by a causal language model: what texts have in common at their beginning is read once.

The texts of one source share long prefixes. They are laid out as a tree of tokens: a token attends to itself and its
ancestors, and its position is its depth. So each token sees exactly what it sees in its own text.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from btr.models.batches import make_batches

CHUNK = 256  # tokens whose logits are in memory at once
# Models that take any mask and any positions, and whose logits are just the last layer's. Of others each text is read
# by itself.
TREE_MODELS = "llama", "mistral", "qwen2", "qwen3", "gpt2", "gpt_neox"

Tokens = Sequence[int]


class TokenTree:
    """Texts as a tree: node 0 is the token that begins every text."""

    def __init__(self, begin: int) -> None:
        self.tokens, self.parents, self.depths = [begin], [-1], [0]
        self.leaves: list[int] = []  # the last node of each text
        self._children: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        return len(self.tokens)

    def add(self, text: Tokens) -> None:
        """Add a text; nodes that an earlier text has too are shared."""
        node = 0
        for token in text:
            child = self._children.setdefault((node, token), len(self.tokens))
            if child == len(self.tokens):
                self.tokens.append(token)
                self.parents.append(node)
                self.depths.append(self.depths[node] + 1)
            node = child
        self.leaves.append(node)

    def ancestors(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Return for each node which nodes it sees: itself and those on the way to the root."""
        visible = np.eye(len(self), dtype=np.bool_)
        for node, parent in enumerate(self.parents[1:], 1):
            visible[node] |= visible[parent]
        return visible

    def sums(self, log_probs: Sequence[float]) -> list[float]:
        """Return each text's sum, from the log-probabilities of all nodes but the root."""
        totals = [0.0]
        for parent, log_prob in zip(self.parents[1:], log_probs):
            totals.append(totals[parent] + log_prob)
        return [totals[leaf] for leaf in self.leaves]


def plant_trees(texts: Sequence[Tokens], begin: int, max_nodes: int, *, shared: bool = True) -> list[TokenTree]:
    """Return the texts as trees, in order: a tree is full when all its texts together have `max_nodes` tokens.

    Without `shared`, each text is a tree by itself.
    """
    trees: list[TokenTree] = []
    room = 0
    for text in texts:
        if not trees or not shared or len(text) > room:
            trees.append(TokenTree(begin))
            room = max_nodes - 1
        trees[-1].add(text)
        room = max_nodes - len(trees[-1])
    return trees


class TreeScorer:
    """Sums of log-probabilities by a causal language model of `transformers`."""

    def __init__(self, model: Any, begin: int, budget: int) -> None:
        self.model, self.begin, self.budget = model, begin, budget
        self.shares_prefixes = model.config.model_type in TREE_MODELS

    @torch.inference_mode()
    def sums(self, sources: Sequence[Sequence[Tokens]]) -> list[list[float]]:
        """Return the log-probability of each text of each source."""
        planted = [plant_trees(texts, self.begin, self.budget, shared=self.shares_prefixes) for texts in sources]
        trees = [tree for each in planted for tree in each]
        sums: dict[int, list[float]] = {}
        for batch in make_batches([len(tree) for tree in trees], self.budget):
            chosen = [trees[k] for k in batch]
            for tree, log_probs in zip(chosen, self._log_probs(chosen)):
                sums[id(tree)] = tree.sums(log_probs)
        return [[value for tree in each for value in sums[id(tree)]] for each in planted]

    def _log_probs(self, trees: Sequence[TokenTree]) -> list[list[float]]:
        """Return the log-probability of each node but the root, given its ancestors."""
        width = max(map(len, trees))
        states = self._states(trees, width)
        parents = [k * width + parent for k, tree in enumerate(trees) for parent in tree.parents[1:]]
        tokens = [token for tree in trees for token in tree.tokens[1:]]
        read, where = np.unique(np.array(parents, dtype=np.int64), return_inverse=True)  # leaves predict nothing
        log_probs = torch.empty(len(tokens), dtype=torch.float64)
        for start in range(0, len(read), CHUNK):
            logits = self._logits(states[read[start : start + CHUNK]])
            (members,) = np.nonzero((where >= start) & (where < start + CHUNK))
            rows, columns = where[members] - start, [tokens[k] for k in members]
            log_probs[members] = (logits[rows, columns] - logits.logsumexp(-1)[rows]).double().cpu()
        return [part.tolist() for part in log_probs.split([len(tree) - 1 for tree in trees])]

    def _states(self, trees: Sequence[TokenTree], width: int) -> Tensor:
        """Return what the logits of all nodes are computed from: padded to one width, one node per row."""
        ids = np.full((len(trees), width), self.begin)
        positions = np.zeros((len(trees), width), dtype=np.int64)
        visible = np.tile(np.eye(width, dtype=np.bool_), (len(trees), 1, 1, 1))  # padding sees itself
        for k, tree in enumerate(trees):
            ids[k, : len(tree)], positions[k, : len(tree)] = tree.tokens, tree.depths
            if self.shares_prefixes:
                visible[k, 0, : len(tree), : len(tree)] = tree.ancestors()
        device = self.model.device
        inputs = {"input_ids": torch.tensor(ids, device=device), "use_cache": False}
        if not self.shares_prefixes:  # padding follows the text, which does not see it
            return self.model(**inputs).logits.flatten(0, 1)
        inputs["position_ids"] = torch.tensor(positions, device=device)
        inputs["attention_mask"] = torch.tensor(visible, device=device)
        return self.model.base_model(**inputs).last_hidden_state.flatten(0, 1)

    def _logits(self, states: Tensor) -> Tensor:
        return (self.model.get_output_embeddings()(states) if self.shares_prefixes else states).float()
