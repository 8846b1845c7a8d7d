#!/usr/bin/env bash
# Builds the libraries of the Windows programs from Debian's source packages, and prints the folder where they are.
# The folder is named by a hash of all that goes into it, kept outside the build folders and made only once.
# Needs no root, and changes nothing in the machine's own list of package sources.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
cache=${PORTHOLE_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/porthole}
jobs=${PORTHOLE_JOBS:-$(nproc)}
target=x86_64-w64-windows-gnu
flags="-O2 -ffunction-sections -fdata-sections -femulated-tls -D_WIN32_WINNT=0x0A00"

key=$( (cat "$0" "$here"/../debian_sources.{sh,txt}
    clang++-19 --version | head -1
    dpkg-query -W g++-mingw-w64-x86-64-posix mingw-w64-x86-64-dev libz-mingw-w64-dev 'libboost1.*-dev') | sha256sum | cut -c1-16)
prefix=$cache/windows/$key
sources=$cache/sources

fail() { # what went wrong, and what helps
    printf 'dependencies of the Windows build: %s: %s\n' "$1" "$2" >&2
    exit 1
}

. "$here/../debian_sources.sh"

# --- builds ---------------------------------------------------------------------------------------------------------

compiler_launcher() { command -v ccache || true; }

build_with_cmake() { # library option...
    local library=$1
    shift
    [ -d "$work/$library" ] || unpack "$library"
    cmake -S "$work/$library" -B "$work/$library/out" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$here/toolchain.cmake" -DPORTHOLE_WINDOWS_PREFIX="$prefix" \
        -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DBUILD_SHARED_LIBS=OFF \
        -DCMAKE_POLICY_DEFAULT_CMP0091=NEW -DCMAKE_C_COMPILER_LAUNCHER="$(compiler_launcher)" -DCMAKE_CXX_COMPILER_LAUNCHER="$(compiler_launcher)" "$@"
    ninja -C "$work/$library/out" -j "$jobs" install
}

# What this project never uses is left out: it is most of the time, and attack surface.
build_openssl() {
    unpack openssl
    cd "$work/openssl"
    CC="$(compiler_launcher) clang-19 --target=$target" AR=x86_64-w64-mingw32-ar RANLIB=x86_64-w64-mingw32-ranlib RC=x86_64-w64-mingw32-windres \
        ./Configure mingw64 --prefix="$prefix" --libdir=lib no-shared no-tests no-engine no-legacy no-dso no-module no-ssl3 no-tls1 no-tls1_1 \
        no-dtls no-comp no-weak-ssl-ciphers no-aria no-bf no-blake2 no-camellia no-cast no-cmp no-cms no-ct no-des no-dsa no-gost no-idea no-md4 no-mdc2 \
        no-ocb no-psk no-rc2 no-rc4 no-rfc3779 no-rmd160 no-scrypt no-seed no-siphash no-sm2 no-sm3 no-sm4 no-srp no-srtp no-ts no-whirlpool \
        no-uplink "CFLAGS=$flags"
    make -s -j "$jobs" build_libs
    make -s install_dev
}

# wslay's own build wants autotools; its four files do not.
build_wslay() {
    unpack wslay
    cd "$work/wslay/lib"
    local source
    echo '#define WSLAY_VERSION "1.1"' >includes/wslay/wslayver.h
    for source in wslay_event wslay_frame wslay_net wslay_queue wslay_stack; do
        [ ! -f $source.c ] || clang-19 --target=$target $flags -DHAVE_WINSOCK2_H -Iincludes -c $source.c
    done
    x86_64-w64-mingw32-ar rcs "$prefix/lib/libwslay.a" ./*.o
    mkdir -p "$prefix/include/wslay"
    cp includes/wslay/*.h "$prefix/include/wslay"
}

# Debian's tarball has RE2's tables of characters only as the scripts that make them, which look for the standard's files on the web.
build_re2() {
    unpack re2
    cd "$work/re2/re2"
    sed -i 's|https://[^"]*/ucd|/usr/share/unicode|; s|^from six.moves import urllib|import urllib.request|' unicode.py
    perl make_perl_groups.pl >perl_groups.cc
    python3 make_unicode_casefold.py >unicode_casefold.cc
    python3 make_unicode_groups.py >unicode_groups.cc
    build_with_cmake re2 -DRE2_BUILD_TESTING=OFF
}

# Debian has zlib for mingw as a package; the header-only libraries serve any system. Links, so that nothing else of
# /usr/include is seen.
link_system_libraries() {
    local name
    for name in boost spdlog CLI protozero; do
        ln -s /usr/include/$name "$prefix/include/$name"
    done
    ln -s /usr/x86_64-w64-mingw32/include/{zlib,zconf}.h "$prefix/include/"
    ln -s /usr/x86_64-w64-mingw32/lib/libz.a "$prefix/lib/"
    mkdir -p "$prefix/lib/cmake/spdlog"
    cat >"$prefix/lib/cmake/spdlog/spdlogConfig.cmake" <<'CMAKE'
add_library(spdlog::spdlog INTERFACE IMPORTED)
target_link_libraries(spdlog::spdlog INTERFACE fmt::fmt)
CMAKE
}

build_all() {
    mkdir -p "$prefix"/{include,lib/pkgconfig}
    link_system_libraries
    build_with_cmake nghttp2 -DENABLE_LIB_ONLY=ON -DENABLE_STATIC_LIB=ON -DENABLE_SHARED_LIB=OFF -DENABLE_DOC=OFF
    sed -i 's/^Cflags:.*/& -DNGHTTP2_STATICLIB/' "$prefix/lib/pkgconfig/libnghttp2.pc"
    build_with_cmake libyaml -DBUILD_TESTING=OFF -DINSTALL_CMAKE_DIR=lib/cmake/yaml
    build_with_cmake fmtlib -DFMT_TEST=OFF -DFMT_DOC=OFF
    (build_re2)
    build_with_cmake googletest
    (build_wslay)
    (build_openssl)
}

# --- once -----------------------------------------------------------------------------------------------------------

if ! [ -f "$prefix/contents.txt" ] || ! [ -f "$prefix/complete" ]; then
    mkdir -p "$cache/windows"
    exec 9>"$cache/windows/lock"
    flock -w 1200 9 || fail "another build of them does not end" "see who holds $cache/windows/lock"
    if ! [ -f "$prefix/complete" ]; then
        work=$(mktemp -d)
        trap 'rm -rf "$work"' EXIT
        rm -rf "$prefix"
        echo "building the libraries of the Windows programs, once, into $prefix" >&2
        log=$cache/windows/$key.log
        set +e # a condition around the subshell would keep it from stopping at its first error
        (set -e; build_all) >"$log" 2>&1 9>&-
        status=$?
        set -e
        [ $status -eq 0 ] || { tail -n 40 "$log" >&2; fail "the build failed" "the whole log is $log"; }
        touch "$prefix/complete"
    fi
fi
echo "$prefix"
