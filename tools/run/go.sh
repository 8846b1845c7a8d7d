# Programs of others that are compiled from Go modules, once for each version, and kept in the cache.

CLIENT_CACHE=$CACHE/clients

has_go() { # 1.21 or newer
    [[ $(go env GOVERSION 2>/dev/null) =~ ^go1\.([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge 21 ]
}

need_go() { has_go || fail "Go is needed to build $1" "install Go 1.21 or newer, which fetches the version that go.mod asks for"; } # what

build_with_go() { # what command...
    step "build $1 (once)" "${@:2}" ||
        fail "could not build $1" "check that the Go module proxy is reachable: go env GOPROXY; go version: $(go env GOVERSION)"
}

# The folder or program of that name for the contents of the given files.
kept_for() { echo "$CLIENT_CACHE/$1-$(cat "${@:2}" | sha256sum | cut -c1-16)"; } # name file...

# A program of tests/clients/FOLDER. Without Go, and in continuous integration with an empty cache, it is left out and its tests say that they
# are skipped: compiling it takes longer than all of Porthole.
build_go_client() { # folder output package ldflags [system]
    local folder=tests/clients/$1 output=$TOOLS/$2 kept
    kept=$(kept_for "$2" "$folder"/go.* "$folder"/*.go)
    mkdir -p "$(dirname "$output")" "$(dirname "$kept")"
    if ! [ -x "$kept" ]; then
        if ! has_go; then
            say "- $2 is left out: no Go toolchain (1.21 or newer, which fetches what tests/clients/$1/go.mod asks for; Debian 12's own is too old)"
            return 0
        fi
        if [ -n "${CI:-}${FROM_CACHE:-}" ]; then
            say "- $2 is left out: it is not in the cache ($CLIENT_CACHE), and is not compiled for this; ./run clients does that"
            return 0
        fi
        build_with_go "$2" compile_go_client "$folder" "$kept" "$3" "$4" "${5:-}"
    fi
    cmp -s "$kept" "$output" || cp "$kept" "$output"
}

compile_go_client() ( # folder output package ldflags system
    cd "$1"
    # A toolchain older than go.mod asks for fetches the right one as a module, unless the user has pinned it.
    GOOS=$5 GOFLAGS=-mod=readonly CGO_ENABLED=${CGO:-0} nice go build ${CGO:+-tags seccomp} -p "$JOBS" -trimpath -ldflags "-s -w $4" -o "$2" "$3"
)

# The programs that go.mod calls tools, and the files of their module that manifests.txt names.
compile_go_tools() ( # folder output
    local output=$2.part module file
    rm -rf "$output"
    mkdir -p "$output/files"
    cd "$1"
    export GOFLAGS=-mod=readonly CGO_ENABLED=0
    nice go build -p "$JOBS" -trimpath -ldflags "-s -w" -o "$output/" tool
    module=$(go list -f '{{.Module.Dir}}' tool | head -n 1)
    if [ -f manifests.txt ]; then
        while read -r file; do
            mkdir -p "$output/files/$(dirname "$file")"
            cp -r "$module/$file" "$output/files/$file"
        done <manifests.txt
    fi
    chmod -R u+w "$output"
    mv "$output" "$2"
)

build_platform() { # module
    local folder=tests/platforms/upstream/$1 kept
    kept=$(kept_for "platform-$1" "$folder"/*)
    if ! [ -d "$kept" ]; then
        has_go || { say "- $1 is left out: no Go toolchain (1.24 or newer)"; return 0; }
        build_with_go "$1" compile_go_tools "$folder" "$kept"
    fi
    mkdir -p $TOOLS/platforms
    ln -sfn "$kept" "$TOOLS/platforms/$1"
}

# The control plane that a module file of tests/foreign/upstream names.
build_control_plane() { # module-file output
    local folder=tests/foreign/upstream output=$TOOLS/$2 sums=${1%.mod}.sum stamp
    stamp=$(cat "$folder/$1" "$folder/$sums" "$folder/main.go" "$folder/build.py" | sha256sum | cut -c1-16)
    [ -x "$output" ] && [ "$(cat "$output.stamp" 2>/dev/null)" = "$stamp" ] && return 0
    mkdir -p $TOOLS
    build_with_go "$2" python3 "$folder/build.py" "$1" "$output" --jobs "$JOBS"
    echo "$stamp" >"$output.stamp"
}
