#? ./run test [KIND [ARGUMENT...]]
#?     without a kind: unit tests, checks of the source tree and cluster tests with real clients, then a part that the commit's hash selects;
#?     ./run help test lists the kinds

# A kind is a file of tools/run/tests, whose function has its name. Each of PARTS is a part of ./run test, and each run ends with one of ROTATING.
PARTS="fast checks windows cluster"
ROTATING="sanitized faults crashes fuzz conformance programs"
ON_DEMAND="soak sanitizers lost-servers simulated mutants etcd upgrade takeover foreign scheduler-decisions upstream-windows storage devices platforms
csi clients packages releases machine"

help_of_tests() {
    local kind
    cat <<'TEXT'
./run test
    all parts, then one of the rotating ones, which the commit's hash selects; it is left out after PORTHOLE_ROTATE_BEFORE seconds.
    PORTHOLE_CLUSTER=asan (or tsan) runs the cluster tests with that build; reports go where ASAN_OPTIONS=log_path=... says.

Parts of ./run test:

TEXT
    for kind in $PARTS; do help_of "tests/$kind"; done
    printf '\nOf these a share each, in turn:\n\n'
    for kind in $ROTATING; do help_of "tests/$kind"; done
    printf '\nOnly when asked for; what is built with Go on demand is built once:\n\n'
    for kind in $ON_DEMAND; do help_of "tests/$kind"; done
}

run_test() { # [kind] [...]
    local kind=${1:-all} status=0
    [ $# -gt 0 ] && shift
    [[ " all $(echo $PARTS $ROTATING $ON_DEMAND) " == *" $kind "* ]] || fail "there is no kind of test '$kind'" "./run help test lists them"
    rm -rf $RESULTS
    mkdir -p $RESULTS
    FAILED_STEPS=$PWD/$RESULTS/failed_steps
    "test_${kind//-/_}" "$@" || status=1
    [ "$kind" = fuzz ] || python3 tools/test_summary.py $RESULTS || status=1 # its steps tell all
    exit $status
}

# Each part runs even when one before it failed, so that one run tells everything.
test_all() {
    local status=0
    if [ -n "$QUIET" ]; then
        test_side_by_side || status=1
    else
        test_units dev || status=1
        test_checks || status=1
        test_windows || status=1
        test_cluster || status=1
    fi
    test_rotating || status=1
    return $status
}

# The same in less time. Nobody reads the lines of continuous integration as they come: there what mostly waits runs beside what computes.
test_side_by_side() {
    local status=0 fetching compiling checks wine
    ensure_packages "$BUILD_PACKAGES" "$WINDOWS_PACKAGES" "$RUNTIME_PACKAGES" "$TEST_PACKAGES" "$CHECK_PACKAGES" # later, two would at the same time
    trap wait EXIT # also where a build has failed
    fetch_cluster_tools & # it waits for the network
    fetching=$!
    run_build dev
    wait "$fetching" || true # the cluster tests try again
    (
        renice -n 10 $BASHPID >/dev/null # the tests have time limits
        build_windows_tests
    ) &
    compiling=$!
    step "unit tests (dev)" run_ctest dev || status=1
    wait "$compiling" || status=1
    test_checks &
    checks=$!
    run_windows_tests &
    wine=$!
    test_cluster || status=1
    wait "$wine" || status=1
    wait "$checks" || status=1
    return $status
}

# One of the long parts, which the commit's hash chooses, so that every part runs every few commits and a commit always has the same one.
test_rotating() {
    local parts hash part
    read -ra parts <<<"$ROTATING"
    hash=$(git rev-parse --short=7 HEAD)
    part=${parts[$((16#$hash % ${#parts[@]}))]}
    if [ $SECONDS -ge "${PORTHOLE_ROTATE_BEFORE:-2340}" ]; then
        say "- the rotating part is left out, for want of time: ./run test $part"
        return 0
    fi
    say "the rotating part of $hash: $part"
    case $part in
        sanitized) test_sanitized ;;
        faults) PORTHOLE_SEED=$((16#$hash)) test_faults 4 ;;
        crashes) PORTHOLE_SEED=$((16#$hash)) test_crashes 50000 ;;
        fuzz) test_fuzz 20 "$hash" ;;
        conformance) test_tenth_of_conformance "$hash" ;;
        programs) test_tenth_of_programs "$hash" ;;
    esac
}

test_units() { # preset [label] [regular expression of test names]
    local preset=$1 label=${2:-} names=${3:-}
    ensure_packages "$RUNTIME_PACKAGES" "$TEST_PACKAGES" # some tests drive real network namespaces and containers
    run_build "$preset"
    step "unit tests ($preset${label:+, $label})" run_ctest "$preset" "$label" "$names"
}

# A program more than there are processors, as some mostly wait.
run_ctest() { # preset label names
    local results=$PWD/$RESULTS/$1
    mkdir -p "$results"
    local output=$results/
    [ "$1" != windows ] || output="Z:${output//\//\\}" # as programs under Wine see it
    GTEST_OUTPUT=xml:$output ctest --test-dir "build/$1" -j $((JOBS + 1)) --output-on-failure --no-tests=error ${QUIET:+--repeat until-pass:2} \
        --output-log "$results/ctest.log" --output-junit "$results/ctest.xml" ${2:+-L "$2"} ${3:+-R "$3"}
}

# By the commit's hash; the first where there is no history, as in an unpacked archive.
part_of_three() { echo "$((16#$(git rev-parse --short=7 HEAD 2>/dev/null || echo 0) % 3))/3"; }
