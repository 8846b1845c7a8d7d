# Upstream's own tests, of the version that tests/conformance/upstream names. One program has all of them; kinds of tests select from it.

UPSTREAM_TESTS=$(kept_for conformance tests/conformance/upstream/*)

need_upstream_tests() {
    [ -x "$UPSTREAM_TESTS/e2e.test" ] || need_go "upstream's tests"
    need_cluster
    unpack_tools docker-registry etcd
    [ -x "$UPSTREAM_TESTS/e2e.test" ] || build_with_go "upstream's tests" compile_upstream_tests "$UPSTREAM_TESTS"
    if ! [ -x "$UPSTREAM_TESTS/busybox" ]; then
        ensure_packages "$CONFORMANCE_PACKAGES"
        step "build busybox (once)" tests/conformance/busybox.sh "$UPSTREAM_TESTS/busybox" || fail "could not build busybox" "see above"
    fi
    step "images of upstream's tests" as_root python3 tests/conformance/images.py "$UPSTREAM_TESTS/registry" --programs "$UPSTREAM_TESTS" ||
        fail "could not make the images" "see above"
}

# Mounts reach from container to container only below a shared mount, as systemd makes the root.
run_upstream_tests() { # program name argument...
    with_cluster env "PORTHOLE_CACHE=$CACHE" unshare --mount --propagation shared \
        python3 "tests/$1" "${@:3}" --programs "$UPSTREAM_TESTS" --logs "build/$2" --results "$RESULTS/$2.xml"
}

compile_upstream_tests() ( # output
    local module images=k8s.io/kubernetes/test/images output=$1.part name
    rm -rf "$output"
    mkdir -p "$output/files"
    cd tests/conformance/upstream
    export GOFLAGS=-mod=readonly CGO_ENABLED=0
    local flags=(-p "$JOBS" -trimpath -ldflags "-s -w")
    nice go build "${flags[@]}" -o "$output/" "$images/agnhost" "$images/nonewprivs" k8s.io/sample-apiserver
    nice go test -c -vet=off "${flags[@]}" -o "$output/e2e.test" k8s.io/kubernetes/test/e2e
    module=$(go list -m -f '{{.Dir}}' k8s.io/kubernetes)/test/images
    mkdir "$output/files/porter"
    cp "$module"/agnhost/porter/localhost.* "$output/files/porter"
    for name in kitten nautilus; do
        cp -r "$module/$name/html" "$output/files/$name"
    done
    chmod -R u+w "$output/files"
    mv "$output" "$1"
)
