#!/usr/bin/env bash
# Fuzzes what reads bytes that others wrote: scripts/fuzz.sh [SECONDS] [TARGET...]
# Each target runs for SECONDS (60). Needs a nightly toolchain and cargo-fuzz. What is found is left
# in fuzz/artifacts, what was learned in fuzz/corpus; neither is committed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds="${1:-60}"
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(config json ledger restore sse wal)

die() { printf 'fuzz.sh: %s\n' "$*" >&2; exit 1; }
[[ "$seconds" =~ ^[0-9]+$ ]] || die "usage: scripts/fuzz.sh [SECONDS] [TARGET...]"
cargo +nightly --version >/dev/null 2>&1 || die "no nightly toolchain: rustup toolchain install nightly"
cargo fuzz --version >/dev/null 2>&1 || die "cargo-fuzz is missing: cargo install cargo-fuzz"

# The files that users start from are the seeds of the configuration.
mkdir -p fuzz/corpus/config
{ printf 0; cat policies/gatehouse.example.toml; } >fuzz/corpus/config/gatehouse.example.toml
{ printf 1; cat policies/redaction.toml; } >fuzz/corpus/config/redaction.toml

failed=()
for target in "${targets[@]}"; do
  printf '\n== %s\n' "$target"
  mkdir -p "fuzz/corpus/$target" "fuzz/seeds/$target"
  # Without a sanitizer: our code is safe Rust, and finds are panics, not overruns. A unit that takes
  # ten seconds is a find, and so is one that takes a gigabyte.
  cargo +nightly fuzz run --dev --sanitizer none "$target" "fuzz/corpus/$target" "fuzz/seeds/$target" -- \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=8192 -print_final_stats=1 ||
    failed+=("$target")
done
[ ${#failed[@]} -eq 0 ] || die "found something: ${failed[*]}"
