#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Downloads packages of any architecture or suite from the archive that this
# machine already uses, and unpacks them into a folder. Installs nothing, adds
# no architecture and changes no apt list.
#
#   fetch-deb.sh FOLDER ARCH SUITE PACKAGE...
#
#   SUITE  the release's code name is put before it: '' is the release itself,
#          -backports its backports
# A metapackage that only depends on linux-image-* brings that image.
set -euo pipefail

[ $# -ge 4 ] || { sed -n '6p' "$0" | cut -c3- >&2; exit 2; }
dest=$1 arch=$2 suite=$3
shift 3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$dest"

codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
trust=arch=$arch
[ ! -r "$keyring" ] || trust+=" signed-by=$keyring"
apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
	'Created-By: Packages' |
awk -v release="$codename" -v suite="$codename$suite" -v trust="$trust" '
	$2 == release && $3 == "main" {
		print "deb [" trust "] " $1, suite, "main"
		exit }' >"$work/sources.list"
[ -s "$work/sources.list" ] ||
	{ echo "fetch-deb: no source for $codename; apt-get update?" >&2; exit 1; }

options=(-o "Dir::Etc::sourcelist=$work/sources.list"
	-o Dir::Etc::sourceparts=- -o "Dir::State::lists=$work/lists"
	-o APT::Sandbox::User=root -o "APT::Architecture=$arch"
	-o "APT::Architectures=$arch" -o Dir::State::status=/dev/null -qq)
apt-get "${options[@]}" update >&2
names=()
for p in "$@"; do
	image=$(apt-cache "${options[@]}" depends "$p" |
		sed -n 's/^ *Depends: \(linux-image-[^ ]*\)$/\1/p' | head -1)
	names+=("${image:-$p}")
done
(cd "$work" && apt-get "${options[@]}" download "${names[@]}" >&2)
for deb in "$work"/*.deb; do
	dpkg-deb -x "$deb" "$dest"
done
