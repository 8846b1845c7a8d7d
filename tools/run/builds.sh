# Builds of this tree, and of another commit.

configure() { # preset
    step "configure $1" cmake --preset "$1" ||
        fail "cmake refuses the preset $1" "if compilers or packages changed, remove build/$1 and try again"
}

# On a full disk the linker ends with a "Bus error" that does not name the disk.
check_disk() { # preset number-of-targets
    local needed=1 used free
    if [ "$2" -eq 0 ] && [[ $1 =~ ^(dev|asan|tsan)$ ]]; then
        needed=22
    fi
    mkdir -p "build/$1"
    used=$(du -s --block-size=1G "build/$1" | cut -f1)
    free=$(df --output=avail --block-size=1G "build/$1" | tail -n 1)
    [ $((free + used)) -ge $needed ] ||
        fail "the build of $1 takes up to $needed GB, and ${free// /} GB are free" "free some space, or remove folders of build/ that you no longer need"
}

build_targets() { # preset [target...]: everything when no target is named
    local preset=$1
    shift
    check_disk "$preset" $#
    configure "$preset"
    step "build $preset${*:+: $*}" ninja -C "build/$preset" -j "$JOBS" "$@" ||
        fail "the build of $preset failed" "see the first error above"
}

build_commit() { # commit variable-for-its-program
    local commit folder
    commit=$(git rev-parse --verify --quiet --short=8 "$1^{commit}") || fail "$1 is neither a program nor a commit" "git log shows commits"
    folder=build/earlier/$commit
    if ! [ -x "$folder/build/dev/bin/porthole" ]; then
        ensure_packages "$BUILD_PACKAGES"
        mkdir -p "$folder"
        git archive "$commit" | tar -x -C "$folder"
        step "build $commit (once)" compile_commit "$folder" || fail "could not build $commit" "see above"
    fi
    printf -v "$2" %s "$folder/build/dev/bin/porthole"
}

compile_commit() ( # folder
    cd "$1"
    cmake --preset dev && nice ninja -C build/dev -j "$JOBS" porthole
)
