# What tests have in common that start clusters of this tree.

CLUSTER_BUILD=${PORTHOLE_CLUSTER:-dev} # asan or tsan: with sanitizers

need_cluster() { # [target...]: more that is built
    ensure_packages "$RUNTIME_PACKAGES" "$TEST_PACKAGES"
    build_targets "$CLUSTER_BUILD" porthole "$@"
    build_clients
    unpack_tools busybox
}

with_cluster() { as_root env "PORTHOLE=$PWD/build/$CLUSTER_BUILD/bin/porthole" "$@" </dev/null; } # command...

run_cluster_tests() { # folder [name...]
    with_cluster python3 tools/python_tests.py "tests/$1" "${@:2}" --results "$RESULTS/$1.xml"
}
