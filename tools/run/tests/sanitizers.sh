#? ./run test sanitizers
#?     all unit tests with address and undefined-behavior sanitizers, then the thread sanitizer

test_sanitizers() {
    local status=0
    test_units asan || status=1
    test_units tsan || status=1
    return $status
}
