# Debian packages. A line each: a Debian package and, where another vendor may have provided it, the command that shows it is there. `a|b`: the first that the
# release has, here Debian 12's and Debian 13's.
BUILD_PACKAGES="
clang-19 clang++-19
lld-19 ld.lld-19
cmake cmake
ninja-build ninja
ccache ccache
pkg-config pkg-config
patch patch
xz-utils xz
python3 python3
libboost1.81-dev|libboost1.83-dev
libssl-dev
libsodium-dev
libnghttp2-dev
libwslay-dev
libprotozero-dev
libyaml-dev
libsqlite3-dev
libfmt-dev
libre2-dev
libspdlog-dev
libcli11-dev
libgtest-dev
libgmock-dev
libbenchmark-dev
zlib1g-dev
libzstd-dev
g++-mingw-w64-x86-64-posix x86_64-w64-mingw32-g++-posix
mingw-w64-x86-64-dev"
# What the Windows build needs beside them: it compiles its libraries from Debian's source packages.
WINDOWS_PACKAGES="
libz-mingw-w64-dev
make make
perl
unicode-data"
RUNTIME_PACKAGES="
containerd containerd
runc runc
containernetworking-plugins
nftables nft
iptables iptables
iproute2 ip
wine64
conntrack conntrack
procps sysctl
e2fsprogs mkfs.ext4"
SERVERS_PACKAGES="
etcd-server etcd"
SANITIZER_PACKAGES="libclang-rt-19-dev"
PROFILE_PACKAGES="
libclang-rt-19-dev
llvm-19 llvm-profdata-19"
TEST_PACKAGES="
util-linux nsenter
iputils-ping ping
python3-kubernetes
python3-yaml
openssh-client ssh"
FAULT_PACKAGES="
faketime faketime
util-linux unshare"
INSTALL_PACKAGES="
debootstrap debootstrap
util-linux unshare"
MACHINE_PACKAGES="
qemu-system-x86 qemu-system-x86_64
qemu-utils qemu-img
e2fsprogs mkfs.ext4"
CONFORMANCE_PACKAGES="
gcc gcc
libc6-dev
make make
bzip2 bzip2"
PLATFORM_PACKAGES="
curl curl
openssl openssl"
PROGRAM_PACKAGES="
gcc-mingw-w64-i686-posix i686-w64-mingw32-gcc-posix
npm npm
maven mvn
mono-mcs mcs
python3-pip pip"
CHECK_PACKAGES="
git git
osslsigncode osslsigncode
openssl openssl"
PACKAGE_PACKAGES="
dpkg dpkg-deb
binutils strip
wine64"
LINT_PACKAGES="
clang-format-19 clang-format-19
clang-tidy-19 clang-tidy-19"
BENCH_PACKAGES="
openssl openssl
binutils strip
dnsperf dnsperf
libpcre2-8-0
nghttp2-client h2load"
# Programs of packages that are not installed, as that would start services, or replace what is there: name, package, path in it, and the
# release whose package it is, if not this machine's.
TOOL_PACKAGES="
busybox busybox-static bin/busybox
docker-registry docker-registry usr/bin/docker-registry
etcd etcd-server usr/bin/etcd
etcdctl etcd-client usr/bin/etcdctl
kubectl-1.20 kubernetes-client usr/bin/kubectl bookworm
nginx nginx usr/sbin/nginx"

is_installed() { # package [command]
    if [ -n "${2:-}" ] && command -v "$2" >/dev/null; then
        return 0
    fi
    [[ " $(dpkg-query -W -f '${db:Status-Status} ' ${1//|/ } 2>/dev/null) " == *" installed "* ]]
}

# Those of Debian's release; the last of `a|b` when there is no list of packages yet.
available() { # package...
    local names name
    for names in "$@"; do
        for name in ${names//|/ }; do
            [[ $names != *"|"* || -z "$(apt-cache show "$name" 2>/dev/null)" ]] || break
        done
        echo "$name"
    done
}

ensure_packages() { # lists as above
    command -v dpkg-query >/dev/null || fail "this is not a Debian system" "install what docs/dependencies.md lists, then use cmake --preset release"
    local missing=() package program
    while read -r package program; do
        if [ -n "$package" ] && ! is_installed "$package" "$program"; then
            missing+=("$package")
        fi
    done <<<"$(printf '%s\n' "$@")"
    [ ${#missing[@]} -eq 0 ] && return 0
    say "missing: ${missing[*]}"
    step "install ${#missing[@]} Debian packages" install_packages "${missing[@]}" ||
        fail "could not install Debian packages" "check the network and /etc/apt/sources.list, then: apt-get install $(available "${missing[@]}" | xargs)"
}

install_packages() {
    as_root apt-get update -q
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $(available "$@")
}

unpack_tools() { # name...
    local name package path release
    mkdir -p $TOOLS
    while read -r name package path release; do
        [[ " $* " == *" $name "* ]] && ! [ -x "$TOOLS/$name" ] || continue
        step "unpack $name of $package" download_and_unpack "$package" "$path" "$PWD/$TOOLS/$name" "$release" ||
            fail "could not fetch Debian's package $package" "check the network and /etc/apt/sources.list, then: apt-get update"
    done <<<"$TOOL_PACKAGES"
}

download_and_unpack() ( # package path-in-package output release
    local folder options update=(as_root apt-get update -q)
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    cd "$folder"
    options=(-q -o "APT::Sandbox::User=$(id -un)")
    if [ -n "$4" ] && [ "$(. /etc/os-release && echo "${VERSION_CODENAME:-}")" != "$4" ]; then
        # An index of its own, from the mirror that the machine already uses.
        mkdir -p lists/partial cache/archives/partial
        { apt-get indextargets --format '$(ORIGIN) $(REPO_URI)' 'Identifier: Packages' | sed -n 's/^Debian //p'; echo http://deb.debian.org/debian; } |
            grep -v security | head -n 1 | sed "s/.*/deb & $4 main/" >sources.list
        options+=(-o "Dir::Etc::sourcelist=$folder/sources.list" -o Dir::Etc::sourceparts=- -o "Dir::State::lists=$folder/lists" -o "Dir::Cache=$folder/cache")
        update=(apt-get update "${options[@]}")
    fi
    local fetch=(apt-get download "${options[@]}" "$1")
    "${fetch[@]}" || { "${update[@]}" && "${fetch[@]}"; } || return 1
    dpkg -x "$1"_*.deb unpacked || return 1
    [ -f "unpacked/$2" ] || set -- "$1" "usr/$2" "$3" # since Debian 13 no package has anything in /bin
    install -m 755 "unpacked/$2" "$3"
)
