#!/usr/bin/env bash
# Formats-checks, validates and tests every module and example below terraform/. Touches no account
# and needs no credentials: the tests mock the provider. It needs the provider's schema, though, from
# registry.terraform.io or from the mirror that TF_CLI_CONFIG_FILE names; without either it exits
# with 3, having checked the format alone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../terraform"

# A configuration file that is named and missing would be a warning in every answer.
if [ -n "${TF_CLI_CONFIG_FILE:-}" ] && [ ! -f "$TF_CLI_CONFIG_FILE" ]; then
  unset TF_CLI_CONFIG_FILE
fi
export CHECKPOINT_DISABLE=1 TF_IN_AUTOMATION=1 TF_INPUT=0

say() { printf '   %s\n' "$*"; }

say "fmt"
terraform fmt -recursive -check -diff

# On a copy, so that nothing is left in the tree.
copy="$(mktemp -d)"
trap 'rm -rf "$copy"' EXIT
cp -R . "$copy/terraform"
# One download for all.
export TF_PLUGIN_CACHE_DIR="$copy/plugins"
mkdir "$TF_PLUGIN_CACHE_DIR"

folders="$(cd "$copy/terraform" && find . -name '*.tf' -not -path '*/.terraform/*' -exec dirname {} + | sort -u)"
for folder in $folders; do
  if ! terraform -chdir="$copy/terraform/$folder" init -backend=false -no-color >"$copy/init" 2>&1; then
    cat "$copy/init" >&2
    if grep -Eq 'Failed to (query available|install) provider' "$copy/init"; then
      say "the provider cannot be had: neither validated nor tested"
      exit 3
    fi
    exit 1
  fi
  say "validate $folder"
  terraform -chdir="$copy/terraform/$folder" validate -no-color
  say "test $folder"
  terraform -chdir="$copy/terraform/$folder" test -no-color
done
