#? ./run fuzz TARGET [SECONDS]
#?     runs one fuzz target (default 60 s)
#? ./run fuzz --each SECONDS [TARGET...]
#?     until each target has had that much processor time, on what the machine has left over; goes on where the last one ended
#?     (tests/fuzz/rounds.txt)

run_fuzz() { # target [seconds]
    local targets
    ensure_packages "$BUILD_PACKAGES" "$SANITIZER_PACKAGES"
    configure asan
    targets=$(xargs <build/asan/fuzz_targets.txt)
    if [ "${1-}" = --each ]; then
        [ $# -ge 2 ] || fail "no time is given" "./run fuzz --each SECONDS [TARGET...]"
        local seconds=$2
        shift 2
        # shellcheck disable=SC2086 # a word each
        [ $# -gt 0 ] || set -- $targets
        build_targets asan "${@/#/fuzz_}"
        exec python3 tools/fuzz_rounds.py "$seconds" "$@"
    fi
    [ $# -ge 1 ] || fail "no target is named" "./run fuzz TARGET [SECONDS]; targets: $targets"
    [[ " $targets " == *" $1 "* ]] || fail "there is no fuzz target '$1'" "one of: $targets"
    build_targets asan "fuzz_$1"
    fuzz_one "build/asan/fuzz/$1" "${2:-60}"
}

fuzz_one() { # program seconds
    local name=${1##*/}
    mkdir -p "build/fuzz/corpus/$name" "build/fuzz/crashes" # what was found outlives a build
    local seeds=tests/fuzz/corpus/$name
    "$1" -max_total_time="$2" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="build/fuzz/crashes/$name-" "build/fuzz/corpus/$name" $([ -d "$seeds" ] && echo "$seeds")
}
