#? ./run test crashes [N]
#?     cuts the power of the store at N random calls of its disk (default 10000; 1000 are part of the unit tests); PORTHOLE_SEED chooses them

test_crashes() { # [number of crash points]
    local points=${1:-10000}
    ensure_packages "$BUILD_PACKAGES"
    build_targets dev crash_points_test
    step "$points crash points" env "PORTHOLE_CRASH_POINTS=$points" "GTEST_OUTPUT=xml:$PWD/$RESULTS/" build/dev/tests/crash_points_test
}
