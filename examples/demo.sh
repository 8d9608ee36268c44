#!/usr/bin/env bash
# What btr does: a learner's letter corrected with the shipped model, what was changed, and the alternatives.
set -euo pipefail
cd "$(dirname "$0")/.."
run() { printf '\n\033[1m$ btr %s\033[0m\n' "$*"; "$BTR" "$@"; }

run correct examples/letter.md
run correct examples/letter.md --diff
run correct examples/letter.md --alternatives
run evaluate examples/base.txt --metric m2 --gold examples/gold.m2
