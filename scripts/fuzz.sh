#!/usr/bin/env bash
# Fuzzes what reads bytes that others wrote: scripts/fuzz.sh [SECONDS] [TARGET...]
# Each target runs for SECONDS (60), two of them at a time (GATEHOUSE_FUZZ_JOBS). Needs a nightly
# toolchain, and exits with 3 where there is none; installs cargo-fuzz into the cache if it is missing.
# What is found is left in fuzz/artifacts, what was learned in fuzz/corpus; neither is committed. A find
# that was mended becomes a file of fuzz/seeds, which every run begins with.
#
# Why it is built as it is: without a sanitizer, since our code is safe Rust and finds are panics, not
# overruns; optimised with every debug check on. That takes 7.5 minutes of one core's time from nothing,
# so under 4 on two, and seconds afterwards, as the target folder is kept where CARGO_TARGET_DIR is. With
# two minutes a target the whole is 10 minutes of CI's budget the first time and 6 to 7 from then on.
# Sanitized builds and longer runs are for by hand.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# The version that the tests were made with; its `--locked` build takes a minute.
version=0.13.2
seconds="${1:-60}"
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(config json ledger redact restore sse wal witness)
jobs="${GATEHOUSE_FUZZ_JOBS:-2}"
home="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"
tools="${GATEHOUSE_CACHE:-${XDG_CACHE_HOME:-$home/.cache}/gatehouse}/tools"
# Apart from the other builds, which would wait for its lock.
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/target}/fuzz"

say() { printf '   %s\n' "$*"; }
die() { printf 'fuzz.sh: %s\n' "$*" >&2; exit 1; }
[[ "$seconds" =~ ^[1-9][0-9]*$ && "$jobs" =~ ^[1-9][0-9]*$ ]] ||
  die "usage: scripts/fuzz.sh [SECONDS] [TARGET...]"
cargo +nightly --version >/dev/null 2>&1 || {
  say "no nightly toolchain: rustup toolchain install nightly"
  exit 3
}
export PATH="$PATH:$tools/bin"
if ! cargo fuzz --version >/dev/null 2>&1; then
  say "installing cargo-fuzz $version"
  cargo install --quiet --locked --version "$version" --root "$tools" \
    --target-dir "$CARGO_TARGET_DIR/cargo-fuzz" cargo-fuzz || die "cargo-fuzz could not be installed"
fi

# The files that users start from are the seeds of the configuration.
mkdir -p fuzz/corpus/config
{ printf 0; cat policies/gatehouse.example.toml; } >fuzz/corpus/config/gatehouse.example.toml
{ printf 1; cat policies/redaction.toml; } >fuzz/corpus/config/redaction.toml

# cargo-fuzz has no --locked of its own: if the lock file is up to date, it builds with what that says.
cargo +nightly metadata --locked --format-version 1 --manifest-path fuzz/Cargo.toml >/dev/null ||
  die "fuzz/Cargo.lock is not up to date: cargo metadata --manifest-path fuzz/Cargo.toml, then commit it"

say "building ${targets[*]}"
# Named, since cargo-fuzz builds for musl where it was itself installed as a static program.
host="$(rustc -vV | sed -n 's/^host: //p')"
mkdir -p "$CARGO_TARGET_DIR"
cargo +nightly fuzz build --dev --sanitizer none --target "$host" \
  >"$CARGO_TARGET_DIR/build.log" 2>&1 || {
  cat "$CARGO_TARGET_DIR/build.log" >&2
  die "the targets do not build"
}

logs="$(mktemp -d)"
trap 'kill $(jobs -p) 2>/dev/null || true; rm -rf "$logs"' EXIT

# A unit that takes half a minute (of a machine that does other things as well) is a find, and so is
# one that takes a gigabyte.
fuzz() {
  local target="$1"
  mkdir -p "fuzz/corpus/$target" "fuzz/seeds/$target" "fuzz/artifacts/$target"
  "$CARGO_TARGET_DIR/$host/debug/$target" "fuzz/corpus/$target" "fuzz/seeds/$target" \
    -artifact_prefix="fuzz/artifacts/$target/" -max_total_time="$seconds" -timeout=30 \
    -rss_limit_mb=1024 -max_len=8192 -print_final_stats=1 >"$logs/$target" 2>&1
}

failed=()
judge() {
  local target="$1" status="$2" runs coverage
  runs="$(sed -n 's/^stat::number_of_executed_units: *//p' "$logs/$target")"
  coverage="$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$logs/$target" | tail -n 1)"
  if [ "$status" -ne 0 ] || [ "${runs:-0}" -lt 100 ]; then
    tail -n 60 "$logs/$target" >&2
    failed+=("$target")
  fi
  say "$target: exit $status, ${runs:-no} runs, coverage ${coverage:-none}"
}

for ((at = 0; at < ${#targets[@]}; at += jobs)); do
  started=()
  for target in "${targets[@]:at:jobs}"; do
    fuzz "$target" &
    started+=("$target:$!")
  done
  for one in "${started[@]}"; do
    status=0
    wait "${one#*:}" || status=$?
    judge "${one%%:*}" "$status"
  done
done
[ ${#failed[@]} -eq 0 ] || die "found something, or did not run: ${failed[*]}"
