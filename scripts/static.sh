#!/usr/bin/env bash
# Builds both programs as Containerfile does, static with glibc, and checks what the image counts on:
# no interpreter, no libraries, and that they run. As root it also runs the gateway as the image would:
# on a read-only root with nothing else in it, as nobody, finding its provider by DNS
# (scripts/static/run.py); exits with 3 if only that could not be done, for want of namespaces.
#
#     scripts/static.sh [--release]
#
# Only the last step of a build, the linking, is told to be static: whatever was compiled before is
# used, so after a build of the same profile it takes seconds. The programs are left in the target
# folder under static/.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

profile=debug
options=()
if [ "${1:-}" = --release ]; then
  profile=release
  options=(--release)
fi
say() { printf '   %s\n' "$*"; }
die() { printf 'static.sh: %s\n' "$*" >&2; exit 1; }

target="${CARGO_TARGET_DIR:-$PWD/target}"
built="$target/static/$profile"
mkdir -p "$built"

for name in gatehouse gatehouse-auditor; do
  cargo rustc --locked --quiet "${options[@]}" -p "$name" --bin "$name" -- \
    -C target-feature=+crt-static
  binary="$built/$name"
  cp "$target/$profile/$name" "$binary"
  headers="$(readelf -lW "$binary")"
  ! grep -q INTERP <<<"$headers" || die "$name asks for an interpreter"
  ! readelf -dW "$binary" | grep -q NEEDED || die "$name asks for libraries"
  say "$("$binary" --version): static, $(du -h "$binary" | cut -f1)"
done
python3 scripts/static/smoke.py "$built/gatehouse"

if unshare --net --mount --pid --fork true 2>/dev/null; then
  unshare --net --mount --pid --fork python3 scripts/static/run.py "$built"
else
  say "no namespaces can be made here"
  exit 3
fi
