#!/usr/bin/env bash
# What btr can do so far, on a small sample of its own: twenty learner sentences, two annotators, three candidates each.
set -euo pipefail
cd "$(dirname "$0")/.."
run() { printf '\n\033[1m$ btr %s\033[0m\n' "$*"; "$BTR" "$@"; }

run evaluate examples/base.txt --metric m2 --gold examples/gold.m2
run evaluate examples/base.txt --metric errant --gold examples/gold.m2 --by operation
run evaluate examples/base.txt --metric gleu --source examples/source.txt \
  --reference examples/reference0.txt --reference examples/reference1.txt
run evaluate examples/candidates.jsonl --oracle --metric m2 --gold examples/gold.m2
run compare examples/base.txt examples/second.txt --metric m2 --gold examples/gold.m2
