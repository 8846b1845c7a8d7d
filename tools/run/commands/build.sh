#? ./run build [PRESET]
#?     builds release and windows: build/release/bin/porthole, build/windows/bin/*.exe; other presets: dev, asan (with the fuzz targets), tsan
#? ./run build --timings
#?     shows where the time of the builds in build/ went: totals for each kind of step, and the slowest steps

run_build() { # [preset]
    if [ "${1:-}" = --timings ]; then
        python3 tools/build_timings.py build/*/.ninja_log
        return
    fi
    local preset=${1:-}
    if [ -z "$preset" ]; then
        make_windows_libraries_aside
        run_build release
        run_build windows
        return
    fi
    case $preset in
        windows) ensure_packages "$BUILD_PACKAGES" "$WINDOWS_PACKAGES" ;;
        asan | tsan) ensure_packages "$BUILD_PACKAGES" "$SANITIZER_PACKAGES" ;;
        *) ensure_packages "$BUILD_PACKAGES" ;;
    esac
    cmake --list-presets | grep -q "\"$preset\"" || fail "there is no preset '$preset'" "one of: $(cmake --list-presets | grep -o '"[a-z]*"' | tr -d '"' | xargs)"
    local targets=()
    [ "$preset" = release ] && targets=(porthole)
    [ "$preset" = windows ] && targets=(windows_programs windows_zip)
    build_targets "$preset" "${targets[@]}"
}

# While the server is compiled: by themselves, they leave a processor idle for half of their time. The configuration of the Windows build waits
# for them, and makes them again if they failed. Not with a limit on parallel compilations.
make_windows_libraries_aside() {
    [ -z "${PORTHOLE_JOBS:-}" ] || return 0
    ensure_packages "$BUILD_PACKAGES" "$WINDOWS_PACKAGES"
    cmake/static/build_dependencies.sh >/dev/null 2>&1 || return 0 # those of the server first: both fetch some tarballs
    cmake/windows/build_dependencies.sh >/dev/null 2>&1 </dev/null &
}
