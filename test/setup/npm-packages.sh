#!/usr/bin/env bash
# Makes node_modules what package-lock.json says: runs `npm ci` if it is not. npm writes what it has installed into
# node_modules/.package-lock.json, so the two are compared, and nothing is done when they agree. (Packages of other
# platforms are in the first only, and are optional.)
set -euo pipefail
cd "$(dirname "$0")/../.."

node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' 2>/dev/null && command -v npm >/dev/null ||
  { echo 'Node 20 or newer, with npm, is needed on the PATH' >&2; exit 1; }

difference() {
  node -e '
    const { readFileSync } = require("node:fs");
    const packages = (file) => JSON.parse(readFileSync(file, "utf8")).packages;
    const wanted = packages("package-lock.json");
    let installed;
    try {
      installed = packages("node_modules/.package-lock.json");
    } catch {
      console.log("node_modules is missing");
      process.exit();
    }
    const differs = ([place, { version, integrity, optional }]) => {
      const found = installed[place];
      if (place === "") return false;
      return found === undefined ? !optional : found.version !== version || found.integrity !== integrity;
    };
    const first = Object.entries(wanted).find(differs);
    if (first !== undefined) console.log(`${first[0]} is not ${first[1].version}`);
  '
}

reason=$(difference)
if [ -n "$reason" ]; then
  echo "installing npm packages ($reason)"
  npm ci --no-audit --no-fund
fi
