#? ./run test scheduler-decisions [--record]
#?     our scheduler against decisions that upstream's has made about generated clusters, which is one of the unit tests; --record: has them made
#?     first, by upstream's scheduler, built with Go on demand (a quarter of an hour of processor time), and replaces the file of the tree

test_scheduler_decisions() { # [--record]
    [ "${1:-}" != --record ] || record_scheduler_decisions
    build_targets dev scheduler_decisions_test
    step "decisions of upstream's scheduler" build/dev/tests/scheduler_decisions_test --gtest_output="xml:$RESULTS/scheduler-decisions.xml"
}

record_scheduler_decisions() {
    local folder=tests/scheduler_decisions kept file=src/scheduler/decisions/testdata/decisions.jsonl
    need_go "upstream's scheduler"
    kept=$(kept_for scheduler-recorder $folder/record/*)
    [ -x "$kept" ] || build_with_go "upstream's scheduler" compile_go_client $folder/record "$kept" . "" ""
    mkdir -p build/scheduler-decisions "$(dirname "$file")"
    (cd $folder && python3 -m scenarios) >build/scheduler-decisions/clusters.jsonl
    step "record its decisions" sh -c '"$1" <build/scheduler-decisions/clusters.jsonl >build/scheduler-decisions/decisions.jsonl' record "$kept" ||
        fail "upstream's scheduler could not decide" "see above"
    cp build/scheduler-decisions/decisions.jsonl "$file"
}
