#!/usr/bin/env bash
# Builds both programs as Containerfile does, static with glibc, and checks what the image counts on:
# no interpreter, no libraries. As root it also runs the gateway as the image would: on a read-only
# root with nothing else in it, as nobody, finding its provider by DNS (scripts/static/run.py).
#
# Not part of scripts/test.sh: it compiles every crate once more, which takes minutes. An argument
# `--release` builds what the image holds; without it, the same faster.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

profile=debug
options=()
if [ "${1:-}" = --release ]; then
  profile=release
  options=(--release)
fi
say() { printf '\n== %s\n' "$*"; }
die() { printf 'static.sh: %s\n' "$*" >&2; exit 1; }

host="$(rustc -vV | sed -n 's/^host: //p')"
target="${CARGO_TARGET_DIR:-$PWD/target}"
built="$target/$host/$profile"

say "static build for $host, $profile"
RUSTFLAGS="-C target-feature=+crt-static" cargo build --locked --quiet --target "$host" \
  "${options[@]}" -p gatehouse -p gatehouse-auditor

for name in gatehouse gatehouse-auditor; do
  binary="$built/$name"
  headers="$(readelf -lW "$binary")"
  ! grep -q INTERP <<<"$headers" || die "$name asks for an interpreter"
  ! readelf -dW "$binary" | grep -q NEEDED || die "$name asks for libraries"
  say "$name: static, $(du -h "$binary" | cut -f1)"
  "$binary" --version
done

if [ "$(id -u)" -eq 0 ] && command -v unshare >/dev/null; then
  say "as in the image: read-only root, uid 65532, names by DNS"
  unshare --net --mount --pid --fork python3 scripts/static/run.py "$built"
else
  say "NOT RUN: the gateway on an empty read-only root (needs root and unshare)"
fi
