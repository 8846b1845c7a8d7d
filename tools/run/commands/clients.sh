#? ./run clients
#?     fetches Debian's kubectl 1.20, and builds the newest kubectl (also for Windows), Helm, a program with client-go, CSI's external attacher, and
#?     containerd 2 with its runc, into build/tools

# What kubectl says of itself; the module's version is in tests/clients/kubectl/go.mod.
VERSION_MODULE=k8s.io/component-base/version
KUBECTL_VERSION="-X $VERSION_MODULE.gitVersion=v1.37.2 -X $VERSION_MODULE.gitMajor=1 -X $VERSION_MODULE.gitMinor=37"

run_clients() {
    build_clients
    ensure_packages libseccomp-dev pkg-config
    build_new_containerd
}

build_clients() {
    unpack_tools kubectl-1.20
    build_kubectl
    build_go_client helm helm helm.sh/helm/v3/cmd/helm ""
    build_go_client client-go client-go . ""
    build_go_client csi csi-attacher github.com/kubernetes-csi/external-attacher/v4/cmd/csi-attacher ""
    build_go_client csi csi-driver . ""
    build_go_client ../conformance/upstream sample-device-plugin k8s.io/kubernetes/test/images/sample-device-plugin ""
}

build_kubectl() {
    build_go_client kubectl kubectl-new . "$KUBECTL_VERSION"
    build_go_client kubectl kubectl.exe . "$KUBECTL_VERSION" windows
}

# A container runtime that makes user namespaces, as Debian 12's does not. Compiling it takes two minutes of processor time.
build_new_containerd() {
    local program
    for program in containerd containerd-shim-runc-v2 ctr; do
        build_go_client containerd "containerd-new/$program" "github.com/containerd/containerd/v2/cmd/$program" ""
    done
    CGO=1 build_go_client containerd containerd-new/runc github.com/opencontainers/runc ""
}
