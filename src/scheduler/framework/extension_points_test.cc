#include "scheduler/framework/extension_points.h"

#include <gtest/gtest.h>

#include "runtime/sim/sim_loop.h"

namespace porthole::scheduler {
namespace {

/// Writes down what it is asked, and fails where it is told to.
class Recorder final : public Plugin {
public:
    Recorder(std::string name, std::vector<std::string>& calls) : name_(std::move(name)), calls_(calls) {}
    std::string_view name() const override { return name_; }

    PostFilter post_filter(const PodRef&, const Diagnosis&, FilterRunner&) override {
        calls_.push_back("post_filter " + name_);
        return {.nominated_node = answer.nominated_node, .message = answer.message};
    }
    Result<void> reserve(const PodInfo& pod, const std::string& node) override {
        calls_.push_back("reserve " + name_ + " " + pod.name + " " + node);
        return outcome();
    }
    void unreserve(const PodInfo& pod, const std::string& node) override {
        calls_.push_back("unreserve " + name_ + " " + pod.name + " " + node);
    }
    Task<> pre_bind(PodRef pod, std::string node) override {
        calls_.push_back("pre_bind " + name_ + " " + pod->name + " " + node);
        co_return outcome();
    }

    bool fails = false;
    PostFilter answer;

private:
    Result<void> outcome() const {
        if (fails) return Error(Reason::Conflict, "no");
        return {};
    }
    std::string name_;
    std::vector<std::string>& calls_;
};

struct NoFilters final : FilterRunner {
    bool fits(const NodeInfo&, FilterStatus&) override { return false; }
    void pod_added(const PodInfo&, const NodeInfo&) override {}
    void pod_removed(const PodInfo&, const NodeInfo&) override {}
};

struct ExtensionPoints : ::testing::Test {
    ExtensionPoints() {
        for (const char* name : {"A", "B", "C"}) plugins.push_back(std::make_unique<Recorder>(name, calls));
    }
    Recorder& plugin(std::size_t index) { return static_cast<Recorder&>(*plugins[index]); }
    Result<void> pre_bind() {
        sim::SimLoop loop;
        const PluginCalls calls = PluginCalls::all_of(plugins);
        return sim::run(loop, run_pre_bind(calls, pod, "n"));
    }
    PostFilter post_filter() {
        NoFilters filters;
        return run_post_filters(PluginCalls::all_of(plugins), pod, {}, filters);
    }

    std::vector<std::string> calls;
    PluginList plugins;
    PodRef pod = std::make_shared<const PodInfo>(PodInfo{.name = "web"});
};

using Calls = std::vector<std::string>;

TEST_F(ExtensionPoints, ReserveIsInTheOrderOfTheList) {
    EXPECT_TRUE(run_reserve(PluginCalls::all_of(plugins), *pod, "n"));
    EXPECT_EQ(calls, (Calls{"reserve A web n", "reserve B web n", "reserve C web n"}));
}

TEST_F(ExtensionPoints, AFailedReserveIsUndoneByAllInReverseOrder) {
    plugin(1).fails = true;
    const auto reserved = run_reserve(PluginCalls::all_of(plugins), *pod, "n");
    ASSERT_FALSE(reserved);
    EXPECT_EQ(reserved.error().reason, Reason::Conflict);
    EXPECT_EQ(reserved.error().message, "running Reserve plugin \"B\": no");
    EXPECT_EQ(calls, (Calls{"reserve A web n", "reserve B web n", "unreserve C web n", "unreserve B web n", "unreserve A web n"}));
}

TEST_F(ExtensionPoints, PreBindIsInTheOrderOfTheList) {
    EXPECT_TRUE(pre_bind());
    EXPECT_EQ(calls, (Calls{"pre_bind A web n", "pre_bind B web n", "pre_bind C web n"}));
}

TEST_F(ExtensionPoints, PreBindEndsAtTheFirstFailure) {
    plugin(0).fails = true;
    const auto bound = pre_bind();
    ASSERT_FALSE(bound);
    EXPECT_EQ(bound.error().reason, Reason::Conflict);
    EXPECT_EQ(bound.error().message, "running PreBind plugin \"A\": no");
    EXPECT_EQ(calls, Calls{"pre_bind A web n"});
}

TEST_F(ExtensionPoints, PostFilterEndsWithTheFirstThatNominatesANode) {
    plugin(0).answer = {.message = "not me"};
    plugin(1).answer = {.nominated_node = "n"};
    EXPECT_EQ(post_filter().nominated_node, "n");
    EXPECT_EQ(calls, (Calls{"post_filter A", "post_filter B"}));
}

TEST_F(ExtensionPoints, PostFilterTellsWhatEachSaid) {
    plugin(0).answer = {.message = "not me"};
    plugin(2).answer = {.message = "nor me"};
    const PostFilter result = post_filter();
    EXPECT_EQ(result.nominated_node, "");
    EXPECT_EQ(result.message, "not me, nor me");
}

}  // namespace
}  // namespace porthole::scheduler
