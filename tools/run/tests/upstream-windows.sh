#? ./run test upstream-windows [FOCUS]
#?     the tests of the same program that upstream runs on Windows nodes, on two emulated nodes, with images built from files in package registries

# The control plane and the Linux node need the other images.
test_upstream_windows() { # [focus]
    local archive=$UPSTREAM_TESTS/windows.tar
    need_upstream_tests
    ensure_packages "$CONFORMANCE_PACKAGES" "$WINDOWS_PACKAGES" "python3-pip pip"
    run_build windows
    step "Windows images of upstream's tests" python3 tests/upstream_windows/images.py "$archive" --files "$UPSTREAM_TESTS/files" ||
        fail "could not make the images" "check that the registries of their packages are reachable, and that there is Go"
    say "upstream's tests of Windows nodes"
    run_upstream_tests conformance/conformance.py upstream-windows --windows "$archive" "$@"
}
