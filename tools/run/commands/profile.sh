#? ./run profile
#?     counts how often each part of `porthole server` runs under load, in some 15 minutes: builds of release that follow are optimized by it

run_profile() {
    local profile=build/profile/release.profdata
    ensure_packages "$BUILD_PACKAGES" "$RUNTIME_PACKAGES" "$TEST_PACKAGES" "$BENCH_PACKAGES" "$PROFILE_PACKAGES"
    build_targets profile porthole
    build_clients
    unpack_tools busybox
    as_root rm -rf build/profile/counts
    as_root env PORTHOLE="$PWD/build/profile/bin/porthole" PORTHOLE_BENCH_NODES=500 PORTHOLE_BENCH_PODS=2000 python3 bench/profile_load.py
    llvm-profdata-19 merge -sparse -o "$profile" build/profile/counts/*.profraw
    say "$profile is used by: ./run build release"
}
