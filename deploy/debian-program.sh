# For scripts that need a program which Debian has, on whatever machine they run; sourced, in bash.
#
#   debian_program NAME OLDEST VERSION-WORDS...
#
# prints the path of NAME, of version OLDEST (x.y.z) or newer: the one on the PATH, else the one fetched earlier, else one taken from
# Debian's package of that name (suite trixie, the mirror that this machine's own apt sources name) into .tools/, without
# touching the system's package lists. Fails where none is to be had. VERSION-WORDS make the program tell its version.

debian_program() {
  local name=$1 oldest=$2 tools found
  shift 2
  tools=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/.tools
  found=$(command -v "$name") && is_new_enough "$found" "$oldest" "$@" && { echo "$found"; return; }
  is_new_enough "$tools/$name" "$oldest" "$@" && { echo "$tools/$name"; return; }
  fetch_from_debian "$name" "$tools" && is_new_enough "$tools/$name" "$oldest" "$@" && { echo "$tools/$name"; return; }
  return 1
}

is_new_enough() { # PROGRAM OLDEST VERSION-WORDS...
  local program=$1 oldest=$2 version
  shift 2
  [ -x "$program" ] || return 1
  version=$("$program" "$@" 2>/dev/null | grep -oE '[0-9]+\.[0-9]+\.[0-9]+' | head -n 1) || return 1
  [ -n "$version" ] && [ "$(printf '%s\n%s\n' "$oldest" "$version" | sort -V | head -n 1)" = "$oldest" ]
}

fetch_from_debian() ( # NAME FOLDER; a subshell, which removes what it made
  name=$1 folder=$2
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
  mirror=$(debian_mirror) || return 1
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/unpacked" "$folder"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$work/sources.list"
  # Without a status a newer package of another origin, installed here, does not hide Debian's.
  options=(-q -o "Dir::Etc::sourcelist=$work/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$work/lists"
    -o Dir::State::status=/dev/null -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root -o Acquire::Retries=3)
  (cd "$work" && apt-get "${options[@]}" update && apt-get "${options[@]}" download "$name") >"$work/log" 2>&1 ||
    { tail -n 3 "$work/log" >&2; return 1; }
  dpkg-deb -x "$work/${name}"_*.deb "$work/unpacked" || return 1
  install -m 755 "$(find "$work/unpacked" -type f -name "$name" -path '*bin/*' | head -n 1)" "$folder/$name.new" || return 1
  mv "$folder/$name.new" "$folder/$name"
)

# The mirror of this machine's own apt sources.
debian_mirror() {
  {
    { cat /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } | sed -n 's/^URIs: *//p'
    { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null || true; } | sed -nE 's/^deb (\[[^]]*\] )?([^ ]+) .*/\2/p'
  } | grep -m 1 '/debian/*$'
}
