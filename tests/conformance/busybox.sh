#!/usr/bin/env bash
# Compiles the busybox of the tests' image, without Debian's patches: busybox.sh OUTPUT. The shell of Debian's package runs its own programs
# in place of the image's, and drops environment variables that a shell cannot name. Needs no root.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
sources=${PORTHOLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/porthole}/sources
work=$(mktemp -d)
prefix=$work
trap 'rm -rf "$work"' EXIT

fail() { # what went wrong, and what helps
    printf 'busybox: %s: %s\n' "$1" "$2" >&2
    exit 1
}

. "$here/../../cmake/debian_sources.sh"
list=$here/busybox.txt
unpack busybox
cd "$work/busybox"
make defconfig
sed -i 's/.*CONFIG_STATIC is not set/CONFIG_STATIC=y/; s/CONFIG_TC=y/CONFIG_TC=n/; s/.*CONFIG_NC_110_COMPAT is not set/CONFIG_NC_110_COMPAT=y/' .config # tc needs headers that newer kernels lack; nc -vz
make -j "${PORTHOLE_JOBS:-$(nproc)}"
install -m 755 busybox "$1"
