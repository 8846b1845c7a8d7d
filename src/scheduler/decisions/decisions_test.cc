// Decisions of Kubernetes' scheduler (1.36, default configuration) about the pods of generated clusters. Recorded by
// `./run test scheduler-decisions --record` (tests/scheduler_decisions/README.md).
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "base/strings.h"
#include "scheduler/decisions/observed.h"
#include "scheduler/scheduler_fixture.h"

namespace porthole::scheduler::testing {
namespace {

/// Where ours decides otherwise on purpose.
struct LeftOut {
    const char* name;  ///< "cluster: pod"
    const char* why;
};
constexpr LeftOut left_out[] = {
    {"default spreading by a Service: p", "ours does not look at Services, but at the labels of pods that sets own"},
    {"limits of volumes: of-d-and-e", "upstream counts a volume of the pod twice that is already attached to the node"},
    {"volumes for claims: of-chosen-gone", "upstream waits until the provisioner notices that the node that was chosen before is gone"},
};

bool is_left_out(const Recorded& recorded) {
    return std::ranges::find(left_out, recorded.name(), [](const LeftOut& one) -> std::string_view { return one.name; }) !=
           std::end(left_out);
}

const Recording& recording() {
    static const Recording read = read_recording(PORTHOLE_SCHEDULER_DECISIONS);
    return read;
}

using Scores = std::map<std::string, std::int64_t>;  // by node

bool are_equal_for_all(const Scores& scores) {
    return std::ranges::all_of(scores, [&](const auto& one) { return one.second == scores.begin()->second; });
}

/// A score that rounding may have made of another is shown as that.
std::int64_t shown(std::int64_t score, const std::string& node, const Scores& wanted) {
    constexpr std::int64_t Rounding = 1;
    const auto other = wanted.find(node);
    return other != wanted.end() && std::abs(other->second - score) <= Rounding ? other->second : score;
}

/// Where a plugin ends the cycle before DynamicResources is asked, upstream's PostFilter fails, as that one's state was "not found", and
/// preemption is not asked. Ours is, and says that it cannot help.
std::string told(const NodeDecision& decision, const NodeDecision& wanted) {
    constexpr std::string_view Failure = ". not found";
    if (!wanted.message.ends_with(Failure)) return decision.message;
    return decision.message.substr(0, wanted.message.size() - Failure.size() + 1);
}

/// A line for each fact, to compare two as texts. A plugin that scores all nodes alike says nothing.
std::string text_of(const NodeDecision& decision, const NodeDecision& wanted) {
    std::string text;
    for (const auto& [node, verdict] : decision.rejected)
        text += node + ": " + verdict.plugin + (verdict.resolvable ? ": " : " (for good): ") + join(verdict.reasons, "; ") + "\n";
    text += "feasible: " + join(decision.feasible, " ") + "\n";
    for (const auto& [plugin, scores] : decision.scores) {
        if (are_equal_for_all(scores)) continue;
        const auto others = wanted.scores.find(plugin);
        text += plugin + ":";
        for (const auto& [node, score] : scores)
            text += " " + node + "=" + std::to_string(shown(score, node, others == wanted.scores.end() ? Scores() : others->second));
        text += "\n";
    }
    return text + (decision.is_error ? "error: " : "message: ") + told(decision, wanted) + "\n";
}

std::string text_of(const Nomination& nomination) { return nomination.node + " without " + join(nomination.victims, ", ") + "\n"; }

/// Any of those that upstream might choose, too.
void expect_same_nomination(const NodeDecision& ours, const NodeDecision& theirs) {
    if (ours.nominations.size() == 1 && std::ranges::find(theirs.nominations, ours.nominations.front()) != theirs.nominations.end()) return;
    std::string actual, expected;
    for (const Nomination& one : ours.nominations) actual += text_of(one);
    for (const Nomination& one : theirs.nominations) expected += text_of(one);
    EXPECT_EQ(actual, expected);
}

std::int64_t total(const NodeDecision& decision, const std::string& node) {
    std::int64_t sum = 0;
    for (const auto& [plugin, scores] : decision.scores) sum += recording().weights.at(plugin) * scores.at(node);
    return sum;
}

/// Of the nodes with the highest sum it may be any.
void expect_best(const std::string& chosen, const NodeDecision& decision) {
    ASSERT_TRUE(std::ranges::find(decision.feasible, chosen) != decision.feasible.end()) << chosen;
    if (decision.feasible.size() < 2) return;
    for (const std::string& node : decision.feasible) {
        EXPECT_GE(total(decision, chosen), total(decision, node)) << chosen << " was chosen, and not " << node;
    }
}

TEST(SchedulerDecisions, WeightsAreUpstreams) {
    World world;
    for (const auto& [plugin, weight] : world.configured.calls.front().scorers) {
        EXPECT_EQ(weight, recording().weights.at(std::string(plugin->name()))) << plugin->name();
    }
}

TEST(SchedulerDecisions, VerdictsAndScoresAreUpstreams) {
    EXPECT_GT(recording().decisions.size(), 600u);
    std::size_t different = 0;
    for (const Recorded& recorded : recording().decisions) {
        SCOPED_TRACE(recorded.name());
        const Observed ours = observe_cycle(recorded);
        if (is_left_out(recorded)) {
            ++different;
            EXPECT_NE(text_of(ours.decision, recorded.decision), text_of(recorded.decision, recorded.decision)) << "is no longer different";
            continue;
        }
        EXPECT_EQ(text_of(ours.decision, recorded.decision), text_of(recorded.decision, recorded.decision));
        expect_same_nomination(ours.decision, recorded.decision);
        if (!ours.chosen.empty()) expect_best(ours.chosen, ours.decision);
    }
    EXPECT_EQ(different, std::size(left_out)) << "a name that is not recorded";
}

/// Whether the pod is the first to be tried, and is tried at once.
bool is_next(const Recorded& recorded) {
    const bool has_its_claims = recorded.decision.message.find("ResourceClaim not created yet") == std::string::npos;
    return has_its_claims && std::ranges::none_of(recorded.objects->as_array(), [](const schema::Value& object) {
               return object.string_at({"kind"}) == "Pod" && object.string_at({"spec", "nodeName"}).empty();
           });
}

TEST(SchedulerDecisions, TheWholeSchedulerComesToUpstreamsEnd) {
    for (const Recorded& recorded : recording().decisions) {
        if (is_left_out(recorded) || !is_next(recorded)) continue;
        SCOPED_TRACE(recorded.name());
        const Observed ours = observe_scheduler(recorded);
        EXPECT_EQ(told(ours.decision, recorded.decision), told(recorded.decision, recorded.decision));
        EXPECT_EQ(ours.decision.is_error, recorded.decision.is_error);
        expect_same_nomination(ours.decision, recorded.decision);
        // A pod whose volumes have to be made first waits for them.
        if (recorded.decision.message.empty() && !ours.chosen.empty()) expect_best(ours.chosen, recorded.decision);
    }
}

}  // namespace
}  // namespace porthole::scheduler::testing
