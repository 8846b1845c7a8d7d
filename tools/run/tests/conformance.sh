#? ./run test conformance [FOCUS]
#?     upstream's own conformance tests against two Linux nodes, built with Go on demand (half an hour of processor time); FOCUS is a regular
#?     expression on their names

test_conformance() { # [focus] | --tenth N
    need_upstream_tests
    say "conformance tests"
    run_upstream_tests conformance/conformance.py conformance "$@"
}

test_tenth_of_conformance() { # hash
    if [ -x "$UPSTREAM_TESTS/e2e.test" ] && [ -x "$UPSTREAM_TESTS/busybox" ]; then
        test_conformance --tenth $((16#$1 / 5 % 10))
    else
        say "- upstream's tests are left out: they are not in the cache ($CLIENT_CACHE); ./run test conformance compiles them"
    fi
}
