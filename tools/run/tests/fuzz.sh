#? ./run test fuzz [SECONDS]
#?     runs every fuzz target for SECONDS (default 10)

test_fuzz() { # [seconds [hash]]: with a hash a tenth of the targets, which it chooses
    local seconds=${1:-10} targets target number=0 status=0
    ensure_packages "$BUILD_PACKAGES" "$SANITIZER_PACKAGES"
    configure asan # lists them
    mapfile -t targets <build/asan/fuzz_targets.txt
    if [ $# -gt 1 ]; then
        mapfile -t targets < <(printf '%s\n' "${targets[@]}" | awk -v tenth=$((16#$2 / 5 % 10)) 'NR % 10 == tenth')
    fi
    build_targets asan "${targets[@]/#/fuzz_}"
    for target in "${targets[@]}"; do
        step "fuzz $target for $seconds s ($((++number)) of ${#targets[@]})" fuzz_one "build/asan/fuzz/$target" "$seconds" || status=1
    done
    return $status
}
