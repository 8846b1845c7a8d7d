#? ./run test csi [NAME...]
#?     upstream's sanity suite for CSI drivers, external provisioner and snapshotter with the tests' own driver, built with Go on demand (a quarter of
#?     an hour of processor time)

test_csi() { # [name...]
    local kept
    kept=$(kept_for csi tests/csi/upstream/*)
    need_cluster csi_driver
    unpack_tools docker-registry
    if ! [ -d "$kept" ]; then
        need_go "upstream's programs for CSI drivers"
        build_with_go "upstream's programs for CSI drivers" compile_csi "$kept"
    fi
    ln -sfn "$kept" $TOOLS/csi
    say "upstream's programs for CSI drivers"
    run_cluster_tests csi "$@"
}

compile_csi() ( # output
    local output=$1.part crds
    rm -rf "$output"
    mkdir -p "$output"
    cd tests/csi/upstream
    export GOFLAGS=-mod=readonly CGO_ENABLED=0
    nice go build -p "$JOBS" -trimpath -ldflags "-s -w" -o "$output/" . tool
    crds=$(go list -m -f '{{.Dir}}' github.com/kubernetes-csi/external-snapshotter/client/v8)/config/crd
    cp "$crds"/*snapshot.storage.k8s.io_*.yaml "$output/"
    chmod -R u+w "$output"
    mv "$output" "$1"
)
