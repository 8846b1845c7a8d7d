#? ./run test platforms [NAME...]
#?     cert-manager, KEDA, the Prometheus operator and others in one cluster, built with Go on demand (an hour of processor time)

test_platforms() { # [name...]
    local folder
    ensure_packages "$PLATFORM_PACKAGES"
    need_cluster
    unpack_tools docker-registry
    for folder in tests/platforms/upstream/*/; do
        build_platform "$(basename "$folder")"
    done
    say "platforms"
    run_cluster_tests platforms "$@"
}
