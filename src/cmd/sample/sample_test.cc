#include "cmd/sample/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/fake/fake_api.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::cmd::sample {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

struct SampleTest : testing::Test {
    void add_node(const std::string& name, std::map<std::string, std::string> labels, const char* ready = "True") {
        core::Node node;
        node.metadata.name = name;
        node.metadata.labels = std::move(labels);
        node.status.conditions.push_back({.type = "Ready", .status = ready});
        api.put(node);
    }
    void add_linux() { add_node("linux-1", {{"kubernetes.io/os", "linux"}}); }
    void add_emulated(const char* ready = "True") {
        add_node("windows-1", {{"kubernetes.io/os", "windows"}, {"porthole.dev/emulated", "true"}}, ready);
    }
    Sample sample() {
        return Sample::read(loop, client, web_manifest(), "default", [this](const std::string& line) { told.push_back(line); }).value();
    }
    void make_available(const std::string& name) {
        api.change<apps::Deployment>({"default", name}, [](apps::Deployment& deployment) {
            deployment.status.observed_generation = deployment.metadata.generation;
            deployment.status.updated_replicas = deployment.status.available_replicas = 1;
        });
    }
    std::vector<std::string> deployments() {
        std::vector<std::string> names;
        for (const auto& deployment : api.list<apps::Deployment>()) names.push_back(deployment.metadata.name);
        return names;
    }
    std::string all_told() {
        std::string text;
        for (const std::string& line : told) text += line + "\n";
        return text;
    }

    sim::SimLoop loop;
    client::FakeApi api{loop};
    client::Client client{api};
    std::vector<std::string> told;
};

TEST_F(SampleTest, MakesAServerForEachSystemAndAServiceInFrontOfBoth) {
    add_linux();
    add_emulated();
    Sample web = sample();
    ASSERT_TRUE(sim::run(loop, web.apply()));
    EXPECT_THAT(told, ElementsAre("service/sample-web created", "deployment.apps/sample-web-linux created",
                                  "deployment.apps/sample-web-windows created"));
    make_available("sample-web-linux");
    make_available("sample-web-windows");
    EXPECT_TRUE(sim::run(loop, web.wait_until_ready(1s)));
    api.change<core::Service>({"default", "sample-web"}, [](core::Service& service) { service.spec.cluster_ip = "10.96.0.9"; });
    const auto ways = sim::run(loop, web.ways_to_look()).value();
    EXPECT_THAT(ways, HasSubstr("curl http://10.96.0.9/"));
    EXPECT_THAT(ways, HasSubstr("exec deploy/sample-web-linux -- /web/fetch http://sample-web/"));
    EXPECT_THAT(ways, HasSubstr("exec deploy/sample-web-windows -- 'C:\\web\\fetch.exe' http://sample-web/"));
}

TEST_F(SampleTest, APodThatIsNotReadyWhenItIsAskedFirstIsAskedAgainSoon) {
    add_linux();
    add_emulated();
    Sample web = sample();
    ASSERT_TRUE(sim::run(loop, web.apply()));
    ASSERT_EQ(deployments().size(), 2u);
    for (const auto& deployment : api.list<apps::Deployment>())
        EXPECT_EQ(deployment.spec.template_.spec.containers.at(0).readiness_probe->period_seconds, 2) << deployment.metadata.name;
}

TEST_F(SampleTest, LeavesOutTheSystemThatNoNodeHasAndSaysHowToGetOne) {
    add_linux();
    add_emulated("False");
    Sample web = sample();
    ASSERT_TRUE(sim::run(loop, web.apply()));
    EXPECT_THAT(deployments(), ElementsAre("sample-web-linux"));
    EXPECT_THAT(all_told(), HasSubstr("sample-web-windows is left out: no Windows node is Ready; `porthole up --nodes linux=1,windows=1`"));
}

TEST_F(SampleTest, RealWindowsHostsAreLeftOutWithTheReason) {
    add_linux();
    add_node("web-09", {{"kubernetes.io/os", "windows"}});
    Sample web = sample();
    ASSERT_TRUE(sim::run(loop, web.apply()));
    EXPECT_THAT(deployments(), ElementsAre("sample-web-linux"));
    EXPECT_THAT(all_told(), HasSubstr("Microsoft's base layers"));
}

TEST_F(SampleTest, AClusterWithoutNodesIsAnErrorAndNothingIsMade) {
    Sample web = sample();
    const auto made = sim::run(loop, web.apply());
    ASSERT_FALSE(made);
    EXPECT_THAT(made.error().message, HasSubstr("no Linux node is Ready"));
    EXPECT_TRUE(api.list<core::Service>().empty());
}

TEST_F(SampleTest, CanBeMadeAgainAndIsRemovedWhole) {
    add_linux();
    Sample first = sample();
    ASSERT_TRUE(sim::run(loop, first.apply()));
    Sample again = sample();
    ASSERT_TRUE(sim::run(loop, again.apply()));
    EXPECT_THAT(all_told(), HasSubstr("service/sample-web existed"));
    told.clear();
    Sample third = sample();
    ASSERT_TRUE(sim::run(loop, third.remove()));
    EXPECT_THAT(told, ElementsAre("deployment.apps/sample-web-linux deleted", "service/sample-web deleted"));
    EXPECT_TRUE(deployments().empty());
    EXPECT_TRUE(sim::run(loop, third.remove())) << "what is gone is gone";
}

TEST_F(SampleTest, SaysWhatAPodWaitsFor) {
    add_linux();
    Sample web = sample();
    ASSERT_TRUE(sim::run(loop, web.apply()));
    core::Pod pod;
    pod.metadata.namespace_ = "default";
    pod.metadata.name = "sample-web-linux-5d8-abcde";
    pod.status.conditions.push_back({.type = "PodScheduled", .status = "False", .message = "0/1 nodes are available"});
    api.put(pod);
    const auto waited = sim::run(loop, web.wait_until_ready(3s));
    ASSERT_FALSE(waited);
    EXPECT_THAT(waited.error().message, HasSubstr("not scheduled: 0/1 nodes are available"));
    EXPECT_THAT(waited.error().message, HasSubstr("describe pods -l app=sample-web"));
}

}  // namespace
}  // namespace porthole::cmd::sample
