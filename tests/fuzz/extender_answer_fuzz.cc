// What extenders of the scheduler answer.
#include "fuzz_target.h"
#include "scheduler/extenders/messages.h"

using namespace porthole;
using namespace porthole::scheduler::extender_messages;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t LongestReason = 1100;  // that of a node gets into events
    const std::string_view body(reinterpret_cast<const char*>(data), size);
    for (const bool by_name : {false, true}) {
        const auto filtered = parse_filter_answer(body, by_name);
        if (!filtered) continue;
        for (const auto* nodes : {&filtered->refused, &filtered->unresolvable})
            for (const auto& [node, why] : *nodes) fuzz::expect(why.size() <= LongestReason);
    }
    (void)parse_scores(body);
    (void)parse_binding_answer(body);
    (void)parse_preemption_answer(body);
    return 0;
}
