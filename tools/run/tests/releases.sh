#? ./run test releases [NAME...]
#?     compiles, tests and starts this tree in bare Debian 12 and 13 systems; slow, because it compiles everything

test_releases() { # [name...]
    ensure_packages "$INSTALL_PACKAGES"
    say "this tree in bare Debian systems"
    as_root env "PORTHOLE_JOBS=$JOBS" "PORTHOLE_CACHE=$CACHE" python3 tools/python_tests.py tests/releases "$@" --results $RESULTS/releases.xml </dev/null
}
