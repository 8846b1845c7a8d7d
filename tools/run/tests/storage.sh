#? ./run test storage [FOCUS]
#?     upstream's storage tests, one kind of volume after the other, with a CSI driver of this tree and upstream's sidecars, built with Go on demand
#?     (another ten minutes of processor time)

# Commands of these tests enter the mount namespace of process 1, which a machine may forbid: they get a process 1 of their own, a shell, as it
# collects processes whose parents ended.
test_storage() { # [focus]
    local folder=tests/upstream_storage programs
    need_upstream_tests
    programs=$(kept_for storage $folder/programs/go.* $folder/programs/*/*.go)
    [ -d "$programs" ] || build_with_go "programs of CSI drivers" compile_storage "$programs"
    step "images of upstream's storage tests" as_root python3 $folder/images.py "$programs/registry" --programs "$programs" --others "$UPSTREAM_TESTS/registry" ||
        fail "could not make the images" "see above"
    say "upstream's storage tests"
    with_cluster unshare --mount --pid --fork --kill-child --mount-proc --propagation shared \
        bash -c '"$@"; exit $?' bash python3 $folder/storage.py "$@" --programs "$UPSTREAM_TESTS" --registry "$programs" \
        --logs build/upstream-storage --results "$RESULTS/upstream-storage.xml"
}

compile_storage() ( # output
    local snapshotter=github.com/kubernetes-csi/external-snapshotter
    rm -rf "$1.part"
    mkdir -p "$1.part/snapshots"
    cd tests/upstream_storage/programs
    export GOFLAGS=-mod=readonly CGO_ENABLED=0
    nice go build -p "$JOBS" -trimpath -ldflags "-s -w" -o "$1.part/" ./... tool
    cp "$(go list -m -f '{{.Dir}}' $snapshotter/client/v8)"/config/crd/*snapshot.storage.k8s.io_*.yaml \
        "$(go list -m -f '{{.Dir}}' $snapshotter/v8)/deploy/kubernetes/snapshot-controller/rbac-snapshot-controller.yaml" "$1.part/snapshots/"
    chmod -R u+w "$1.part"
    mv "$1.part" "$1"
)
