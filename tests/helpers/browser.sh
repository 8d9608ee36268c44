#!/usr/bin/env bash
# A Chromium for the tests of the page, if one can be had: Debian's own as root, else Playwright's. Never fails.
command -v chromium chromium-browser google-chrome >/dev/null && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } >/dev/null 2>&1 && exit 0
fi
limit=$(command -v timeout >/dev/null && echo "timeout 300")  # macOS has no timeout
$limit "$1/playwright" install chromium >/dev/null 2>&1 && exit 0
echo "no browser can be had here: the tests of the page are skipped." >&2
exit 0
