"""Recognise lines of a text that are commands or code, without fences around them."""

import re

from btr.correction.fixed import COMMAND, SUBCOMMAND

MAX_LINE = 400  # characters; a longer line is a paragraph
# $ npm install, me@host:~$ ls, >>> f(x), PS C:\> dir
PROMPT = re.compile(
    r"\s*(?:(?:\(\w+\)\s*)?(?:[\w.-]+@[\w.-]+[^$#\s]*)?[$❯]\s+(?=[a-zA-Z./~_])|>>> |PS [A-Z]:\\|[A-Z]:\\\S*>)"
)
# A command with what it is to do, or with a flag, a path or a file: git push origin main, python train.py
COMMAND_LINE = re.compile(
    rf"\s*(?:#\s+)?(?:sudo\s+)?(?:(?:{COMMAND})\s+(?:{SUBCOMMAND})\b"
    r"|(?:cd|ls|mkdir|rmdir|rm|cp|mv)(?:\s+[\w./~*-]+){1,2}\s*$"
    rf"|(?:{COMMAND}|python3?|node|make|java|go)(?:\s+\S+)*?\s+(?:--?[a-zA-Z]|[\w.~-]*/|[\w-]+\.[a-z]\w{{0,4}}\b))"
)
# Words that a sentence about a command has, and a command does not.
PROSE_WORD = re.compile(
    r"(?<![\w-])(?:the|an?|is|are|was|were|be|to|of|and|or|you|your|it|this|that|which|who|has|have|will|can|should|we|i|I)\b"
)
QUOTED = re.compile(r"\"[^\"\n]*\"|'[^'\n]*'")
CODE = [
    re.compile(pattern)
    for pattern in (
        r"\s*(?:#!/|#include\s*[<\"]|//\s|/\*|\*/)",
        r"\s*(?:async\s+)?(?:def|fn|func|function|pub fn)\s+\w+\s*[(<]",  # def f(x):
        r"\s*class\s+\w+(?:\(.*\))?\s*[:{]\s*$",
        r"\s*(?:import\s+[\w.]+(?:\s+as\s+\w+)?|from\s+[\w.]+\s+import\s+[\w*(][\w.*]*(?:\s+as\s+\w+)?(?:\s*[,)#(].*)?)\s*$",
        r".*[\w)\]\"']\s*(?:\{|=>\s*\{?)\s*$",  # if (x) {
        r"\s*[\]})]+[;,]?\s*$",
        r".*(?:\w\(|=|->|::|\+\+|\}).*[;}]\s*$",  # print(x);
        r"\s*(?:return|var|let|const|int|char|void|float|double|using|package)\b[^.]*;\s*$",
        r"\s+return\b[^.!?]*$",
        r"\s*(?:if|elif|for|while|with)\b.*(?:\w\(|[=<>]=|\]).*:\s*$",
        r"\s*(?:export\s+)?[\w.\[\]\"']+\s*(?::|\+|-|\*|/)?==?\s*[^=\s](?!.*[.!?]\s*$)",  # x = 5
        r"\s*[\w.]*(?:\w\.\w|_)\w*\(.*\)\s*$",  # console.log("x")
        r"\s*\"[\w.$-]+\"\s*:\s*(?:[\"\[{\d-]|true|false|null)",  # JSON
        r"\s*(?:SELECT\s+.+\s+FROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|(?:CREATE|DROP|ALTER)\s+TABLE)\s",
        r"\s*(?:[~.]{0,2}/|[A-Za-z]:\\)\S*\s*$",  # a path by itself
    )
]


def is_code_line(line: str) -> bool:
    """Whether a line looks like a command or code, not like prose."""
    if len(line) > MAX_LINE or not line.strip():
        return False
    return bool(PROMPT.match(line)) or is_command(line) or any(pattern.match(line) for pattern in CODE)


def is_command(line: str) -> bool:
    """Whether a line is a command: it begins like one, does not end like a sentence, and has no words of prose."""
    if not COMMAND_LINE.match(line) or line.rstrip()[-1:] in (".", "!", "?", ":", ","):
        return False
    return not PROSE_WORD.search(QUOTED.sub("", line))
