#? ./run test checks
#?     layers, headers, lists, requirements, words and the tools' own tests

test_checks() {
    local status=0 part=() idle=()
    if [ -n "$QUIET" ]; then
        part=(--part "$(part_of_three)")
        idle=(chrt --idle 0) # what takes minutes gets only the time that tests leave
    fi
    ensure_packages "$BUILD_PACKAGES" "$CHECK_PACKAGES"
    build_targets lint api_text # the generated headers; nothing else is compiled in this build folder
    step "layers" python3 tools/check_layers.py || status=1
    step "lists" python3 tools/check_lists.py || status=1
    step "requirements" python3 tools/check_requirements.py || status=1
    step "words" python3 tools/check_words.py || status=1
    step "tests of the tools" python3 tools/python_tests.py tools/tests --results $RESULTS/tools.xml || status=1
    step "headers" "${idle[@]}" python3 tools/check_headers.py --precompiled cmake/precompiled.h --jobs "$JOBS" "${part[@]}" || status=1
    return $status
}
