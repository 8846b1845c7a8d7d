#? ./run lint
#?     formatting, shell and Python syntax, clang-tidy over the .cc files that changed since the commit before the last; TIDY_SINCE=REVISION: since
#?     then; TIDY=all: over all, some 40 minutes on two cores

run_lint() {
    ensure_packages "$BUILD_PACKAGES" "$LINT_PACKAGES"
    local status=0
    step "formatting" check_formatting || status=1
    step "shell and Python syntax" check_scripts || status=1
    build_targets lint api_text # the generated headers, which every file includes
    step "headers" python3 tools/check_headers.py --jobs "$JOBS" || status=1
    step "clang-tidy" check_tidy || status=1
    exit $status
}

# Files of git that are there, by patterns.
files_of() { comm -23 <(git ls-files "$@" | sort) <(git ls-files --deleted "$@" | sort); }

sources() { files_of 'src/*.cc' 'src/*.h' 'tests/*.cc' 'tests/*.h' 'bench/*.cc'; }

check_formatting() { sources | xargs -r clang-format-19 --dry-run -Werror; }

check_scripts() {
    files_of run .ci/run '*.sh' | xargs -n 1 bash -n
    files_of '*.py' | xargs python3 -c 'import ast, sys; [ast.parse(open(path).read(), path) for path in sys.argv[1:]]'
}

check_tidy() { # the whole tree with TIDY=all; otherwise what differs from TIDY_SINCE, or from the commit before the last
    if [ "${TIDY:-}" = all ]; then
        files_of 'src/*.cc'
    else
        git diff --name-only --diff-filter=d "${TIDY_SINCE:-HEAD~1}" -- 'src/*.cc'
    fi | compiled_here | xargs -r -n 1 -P "$JOBS" sh -c 'clang-tidy-19 -p build/lint --quiet --warnings-as-errors="*" "$1" 2>/dev/null && echo "  ✓ $1"' -
}

# Those of the names on standard input that the Linux build compiles: clang-tidy cannot read what is Windows' own.
compiled_here() {
    python3 -c '
import json, os, sys
compiled = {os.path.relpath(entry["file"]) for entry in json.load(open("build/lint/compile_commands.json"))}
print("\n".join(name for name in sys.stdin.read().split() if name in compiled))'
}
