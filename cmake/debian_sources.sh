# Fetches the tarballs that debian_sources.txt names. For a script that builds them, which has set:
#   work     a folder of its own, empty at first
#   prefix   what it installs into; contents.txt there gets a line a library
#   sources  where tarballs are kept
# and has a function fail.
list=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/debian_sources.txt

# apt with an index of source packages of its own, from the mirrors that the machine already uses. The tarballs are Debian 12's, whatever
# release that is: the same sources give the same libraries.
apt() { # program argument...
    local program=$1
    shift
    "$program" -q -o Dir::Etc::sourcelist="$work/apt/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$work/apt/lists" \
        -o Dir::Cache="$work/apt/cache" -o APT::Sandbox::User="$(id -un)" "$@"
}

index_sources() {
    [ -f "$work/apt/done" ] && return 0
    mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
    apt-get indextargets --format '$(ORIGIN) deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' |
        sed -n 's/^Debian //p' | grep ' main$' | sed 's/ [a-z]*\(\(-[a-z]*\)\?\) main$/ bookworm\1 main/' | sort -u >"$work/apt/sources.list"
    if ! [ -s "$work/apt/sources.list" ]; then
        printf 'deb-src http://deb.debian.org/debian%s main\n' " bookworm" " bookworm-updates" "-security bookworm-security" >"$work/apt/sources.list"
    fi
    apt apt-get update >&2 || fail "apt-get update failed" "check the network"
    touch "$work/apt/done"
}

matches() { # file sha256
    [ -f "$1" ] && echo "$2  $1" | sha256sum --check --status
}

# Addresses at which Debian serves a tarball: only the tarball is wanted, so a missing packaging file does no harm.
addresses() { # source-package tarball
    local version
    for version in $(apt apt-cache showsrc "$1" | sed -n 's/^Version: //p' | sort -ru); do
        apt apt-get source --print-uris --download-only "$1=$version" 2>/dev/null | sed -n "s|^'\([^']*\)' $2 .*|\1|p"
    done | sort -u
}

download() { # source-package tarball sha256
    local address
    index_sources
    mkdir -p "$sources"
    for address in $(addresses "$1" "$2"); do
        apt /usr/lib/apt/apt-helper download-file "$address" "$sources/$2" "SHA256:$3" </dev/null || continue
        matches "$sources/$2" "$3" && return 0
    done
    return 1
}

fetch() { # source-package tarball sha256
    matches "$sources/$2" "$3" || download "$1" "$2" "$3"
}

# As dpkg-source does: the patches that debian/patches/series names, in its order, without fuzz.
apply_patches() { # folder tarball
    local name
    tar -xf "$2" -C "$1" debian
    [ -f "$1/debian/patches/series" ] || return 0
    while read -r name _; do
        case $name in '' | '#'*) continue ;; esac
        patch --directory="$1" --strip=1 --fuzz=0 --no-backup-if-mismatch --forward --input="$1/debian/patches/$name" >&2 ||
            fail "$name of $(basename "$2") does not apply" "the two tarballs do not belong together: correct $list"
    done <"$1/debian/patches/series"
}

# Unpacks the first pinned source of a library that can be had into $work/library, with Debian's patches.
unpack() { # library
    local library package tarball folder hash patches patches_hash
    while read -r library package tarball folder hash patches patches_hash; do
        fetch "$package" "$tarball" "$hash" || continue
        [ "$patches" = - ] || fetch "$package" "$patches" "$patches_hash" || continue
        mkdir "$work/unpacked"
        tar -xf "$sources/$tarball" -C "$work/unpacked" --strip-components=1
        [ "$patches" = - ] || apply_patches "$work/unpacked" "$sources/$patches"
        mv "$(realpath "$work/unpacked/$folder")" "$work/$1"
        rm -rf "$work/unpacked"
        echo "$1 $tarball $patches" >>"$prefix/contents.txt"
        return 0
    done < <(grep "^$1 " "$list")
    fail "Debian serves none of the pinned versions of $1" "add the one it has to $list"
}
