#!/usr/bin/env bash
# Packs what a machine needs to run a server: target/package/gauntlet-VERSION-ARCH.tar.gz, with the static program, its man pages,
# completions, units of systemd, alerts, licence and the bill of materials. The same input makes the same bytes.
# usage: scripts/package.sh [PROGRAM]; the program is target/static/gauntlet unless another one is named.
set -euo pipefail
cd "$(dirname "$0")/.."

target=${CARGO_TARGET_DIR:-target}
program=${1:-$target/static/gauntlet}
[ -x "$program" ] || { echo "There is no program $program: make static builds it." >&2; exit 1; }

version=$("$program" --version | awk '{ print $2 }')
name=gauntlet-$version-$(uname -m)
out=$target/package
tree=$out/$name
rm -rf "$tree"
mkdir -p "$tree"/{bin,share/man/man1,share/completions,lib/systemd/system,monitoring}

install -m 755 "$program" "$tree/bin/gauntlet"
"$program" manual "$tree/share/man/man1" >/dev/null
"$program" completions bash >"$tree/share/completions/gauntlet.bash"
"$program" completions zsh >"$tree/share/completions/_gauntlet"
"$program" completions fish >"$tree/share/completions/gauntlet.fish"
install -m 644 packaging/*.service packaging/*.timer "$tree/lib/systemd/system/"
install -m 644 monitoring/alerts.yml monitoring/grafana.json "$tree/monitoring/"
install -m 644 LICENSE CHANGELOG.md SECURITY.md docs/operate.md "$tree/"
scripts/sbom.py --target "$(uname -m)-unknown-linux-gnu" >"$tree/gauntlet.cdx.json"

chmod -R u=rwX,go=rX "$tree"
# The time of the files is that of the commit, where there is one.
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 0)}
tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$epoch" --directory="$out" "$name" | gzip --no-name >"$out/$name.tar.gz"
(cd "$out" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
echo "$out/$name.tar.gz"
