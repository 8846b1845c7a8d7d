# Steps with their times, and messages.

say() { printf '[%3d:%02d] %s\n' $((SECONDS / 60)) $((SECONDS % 60)) "$*"; }

fail() { # what went wrong, and what helps
    printf 'run: %s: %s\n' "$1" "$2" >&2
    exit 1
}

# Runs a command under a title. In quiet mode its output is kept in a log and only its end is shown, if it fails.
step() {
    local title=$1 started=$SECONDS status=0 log
    shift
    say "$title"
    if [ -n "$QUIET" ]; then
        mkdir -p build/logs
        log=build/logs/$(tr -cs 'a-zA-Z0-9\n' '-' <<<"$title" | cut -c1-80).log
        "$@" >"$log" 2>&1 </dev/null || status=$?
        if [ $status -ne 0 ]; then
            tail -n 80 "$log"
        fi
    else
        "$@" || status=$?
    fi
    if [ $status -eq 0 ]; then
        say "✓ $title ($((SECONDS - started))s)"
    else
        say "✗ $title ($((SECONDS - started))s, ended with $status)"
        [ -z "$FAILED_STEPS" ] || echo "$title" >>"$FAILED_STEPS"
    fi
    return $status
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo --preserve-env=PATH,CI,HOME,NO_COLOR,KUBECONFIG,PORTHOLE_SOAK_ROUNDS,PORTHOLE_SOAK_REPORT "$@"
    else
        fail "this needs root" "run it as root, or install sudo"
    fi
}
