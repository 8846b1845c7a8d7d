#? ./run test windows
#?     the Windows programs under Wine

# Unit tests as Windows programs, then whole programs and an emulated host by itself.
test_windows() {
    ensure_packages "$RUNTIME_PACKAGES" "$TEST_PACKAGES"
    run_build dev
    build_windows_tests
    run_windows_tests
}

build_windows_tests() {
    run_build windows
    build_targets windows windows_tests
}

run_windows_tests() {
    local status=0
    step "unit tests (windows, under Wine)" run_ctest windows || status=1
    step "Windows programs under Wine" as_root env "PORTHOLE=$PWD/build/dev/bin/porthole" python3 tools/python_tests.py tests/windows ${QUIET:+--tries 2} \
        --results $RESULTS/windows.xml || status=1
    return $status
}
