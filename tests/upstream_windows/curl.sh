#!/usr/bin/env bash
# Compiles curl for Windows from Debian's source package, with Windows' own TLS: curl.sh OUTPUT. Needs no root.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
sources=${PORTHOLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/porthole}/sources
work=$(mktemp -d)
prefix=$work
trap 'rm -rf "$work"' EXIT

fail() { # what went wrong, and what helps
    printf 'curl: %s: %s\n' "$1" "$2" >&2
    exit 1
}

. "$here/../../cmake/debian_sources.sh"
list=$here/curl.txt
unpack curl
cd "$work/curl"
./configure --host=x86_64-w64-mingw32 CC=x86_64-w64-mingw32-gcc-posix --disable-shared --with-schannel --without-zlib --without-brotli --without-zstd \
    --without-libpsl --without-libidn2 --without-nghttp2 --without-libssh2 --disable-ldap --disable-manual
make -j "${PORTHOLE_JOBS:-$(nproc)}"
x86_64-w64-mingw32-strip -o "$1" src/curl.exe
