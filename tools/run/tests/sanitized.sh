#? ./run test sanitized
#?     the tests that tests/sanitized names, with address and undefined-behavior sanitizers

test_sanitized() {
    local programs
    ensure_packages "$SANITIZER_PACKAGES"
    mapfile -t programs < <(sed 's/ *#.*//; /^$/d; s/ .*//' tests/sanitized)
    build_targets asan "${programs[@]}"
    step "unit tests (asan, ${#programs[@]} chosen programs)" run_ctest asan "" "^($(IFS='|' && echo "${programs[*]}"))\$"
}
