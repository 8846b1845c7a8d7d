#? ./run lists [KIND...]
#?     searches the lists of all kinds for work of the API server that grows faster than the list

run_lists() {
    ensure_packages "$BUILD_PACKAGES"
    build_targets release long_lists
    build/release/bench/long_lists "$@"
}
