#? ./run test mutants
#?     tests that the checks of the store and of histories find the defects known from etcd and Kubernetes

# Each is a test of its own, which fails when the defect is not found.
test_mutants() {
    ensure_packages "$BUILD_PACKAGES"
    build_targets dev store_mutants_test server_mutants_test
    step "mutants" run_ctest dev "" '_mutants_test$'
}
