#!/usr/bin/env bash
# Checks the import rules of .dependency-cruiser.cjs, and that the tool really read the sources: a run that
# cruised fewer modules than there are source files has not checked anything.
set -euo pipefail
cd "$(dirname "$0")/../.."
files=$(find services -name '*.ts' -not -name '*.d.ts' | wc -l)
report=$(npx --no-install depcruise services --output-type err-long) || { echo "$report"; exit 1; }
cruised=$(echo "$report" | grep -oE '[0-9]+ modules' | head -n 1 | grep -oE '[0-9]+' || echo 0)
[ "$cruised" -ge "$files" ] || { echo "layers: cruised $cruised modules of $files files"; exit 1; }
echo "layers: $cruised modules, no rule broken"
