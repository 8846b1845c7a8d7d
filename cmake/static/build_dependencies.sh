#!/usr/bin/env bash
# Builds the static libraries for Linux that Debian's packages lack, from Debian's source packages, and prints the folder where they
# are. The folder is named by a hash of all that goes into it, kept outside the build folders and made only once. Needs no root.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
cache=${PORTHOLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/porthole}
jobs=${PORTHOLE_JOBS:-$(nproc)}
flags="-O2 -fPIC -ffunction-sections -fdata-sections"

key=$( (cat "$0" "$here"/../debian_sources.{sh,txt}
    clang++-19 --version | head -1
    dpkg-query -W libspdlog-dev) | sha256sum | cut -c1-16)
prefix=$cache/static/$key
sources=$cache/sources

fail() { # what went wrong, and what helps
    printf 'static libraries: %s: %s\n' "$1" "$2" >&2
    exit 1
}

. "$here/../debian_sources.sh"

# Names in an object must not depend on the folder it was compiled in, or no two builds are the same.
compile_flags() { echo "$flags -ffile-prefix-map=$work=."; }

build_fmt() {
    unpack fmtlib
    cmake -S "$work/fmtlib" -B "$work/fmtlib/out" -G Ninja -DCMAKE_CXX_COMPILER=clang++-19 -DCMAKE_CXX_FLAGS="$(compile_flags)" \
        -DCMAKE_BUILD_TYPE=None -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF -DFMT_TEST=OFF -DFMT_DOC=OFF
    ninja -C "$work/fmtlib/out" -j "$jobs" install
}

# wslay's own build wants autotools; its four files do not.
build_wslay() {
    unpack wslay
    cd "$work/wslay/lib"
    local source
    echo '#define WSLAY_VERSION "1.1"' >includes/wslay/wslayver.h
    for source in wslay_event wslay_frame wslay_net wslay_queue wslay_stack; do
        [ ! -f $source.c ] || clang-19 $(compile_flags) -DHAVE_ARPA_INET_H -DHAVE_NETINET_IN_H -Iincludes -c $source.c
    done
    ar rcsD "$prefix/lib/libwslay.a" ./*.o
}

# Headers alone, in place of Debian's shared library.
describe_spdlog() {
    mkdir -p "$prefix/lib/cmake/spdlog"
    cat >"$prefix/lib/cmake/spdlog/spdlogConfig.cmake" <<'CMAKE'
add_library(spdlog::spdlog INTERFACE IMPORTED)
target_link_libraries(spdlog::spdlog INTERFACE fmt::fmt)
target_compile_definitions(spdlog::spdlog INTERFACE SPDLOG_FMT_EXTERNAL)
CMAKE
}

build_all() {
    mkdir -p "$prefix/lib"
    build_fmt
    (build_wslay)
    describe_spdlog
}

if ! [ -f "$prefix/complete" ]; then
    mkdir -p "$cache/static"
    exec 9>"$cache/static/lock"
    flock -w 1200 9 || fail "another build of them does not end" "see who holds $cache/static/lock"
    if ! [ -f "$prefix/complete" ]; then
        work=$(mktemp -d)
        trap 'rm -rf "$work"' EXIT
        rm -rf "$prefix"
        log=$cache/static/$key.log
        set +e # a condition around the subshell would keep it from stopping at its first error
        (set -e; build_all) >"$log" 2>&1 9>&-
        status=$?
        set -e
        [ $status -eq 0 ] || { tail -n 40 "$log" >&2; fail "the build failed" "the whole log is $log"; }
        touch "$prefix/complete"
    fi
fi
echo "$prefix"
