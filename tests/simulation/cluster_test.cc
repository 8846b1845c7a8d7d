#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "api/apps_v1.h"
#include "api/core_v1.h"
#include "base/result.h"
#include "objects/pods.h"
#include "runtime/scope.h"
#include "simulation/sim_cluster.h"

namespace porthole::simulation {
namespace {

using namespace std::chrono_literals;
using api::apps::v1::Deployment;
using api::core::v1::ConfigMap;
using api::core::v1::Pod;

constexpr int Nodes = 50;
constexpr int Rounds = 6;

/// Writes config maps all the time and remembers what was acknowledged.
class Writer {
public:
    explicit Writer(SimCluster& cluster) : cluster_(cluster), scope_(cluster.loop()) { scope_.spawn(write()); }
    ~Writer() { EXPECT_TRUE(sim::run(cluster_.loop(), scope_.close())); }

    const std::map<std::string, std::string>& acknowledged() const { return acknowledged_; }

private:
    Task<> write() {
        for (int i = 0;; ++i) {
            ConfigMap map;
            map.metadata.name = "write-" + std::to_string(i);
            map.metadata.namespace_ = "default";
            map.data["value"] = std::to_string(i * 7);
            auto written = co_await cluster_.client().create(map);
            if (is_cancelled(written)) co_return {};
            if (written) acknowledged_[map.metadata.name] = map.data["value"];
            CO_TRY_VOID(co_await cluster_.loop().sleep(500ms));
        }
    }
    SimCluster& cluster_;
    Scope scope_;
    std::map<std::string, std::string> acknowledged_;
};

/// Tries until the server takes it: it may be away for a moment.
Task<> ensure_deployment(SimCluster& cluster, std::int32_t replicas, std::string image) {
    for (;;) {
        auto stored = co_await cluster.client().get<Deployment>({"default", "app"});
        Result<Deployment> written = Error(Reason::Unavailable, "");
        if (stored || is_not_found(stored)) {
            Deployment wanted = stored ? *stored : Deployment();
            wanted.metadata.name = "app";
            wanted.metadata.namespace_ = "default";
            wanted.spec.replicas = replicas;
            wanted.spec.selector.emplace().match_labels = {{"app", "app"}};
            wanted.spec.template_.metadata.labels = {{"app", "app"}};
            wanted.spec.template_.spec.containers.resize(1);
            wanted.spec.template_.spec.containers[0].name = "main";
            wanted.spec.template_.spec.containers[0].image = image;
            Task<Deployment> write = stored ? cluster.client().update(wanted) : cluster.client().create(wanted);
            written = co_await std::move(write);
        }
        if (written) co_return {};
        CO_TRY_VOID(co_await cluster.loop().sleep(1s));
    }
}

bool is_as_wanted(SimCluster& cluster, std::int32_t replicas, const std::string& image) {
    const auto deployment = sim::run(cluster.loop(), cluster.client().get<Deployment>({"default", "app"}));
    const auto pods = sim::run(cluster.loop(), cluster.client().list<Pod>({.namespace_ = "default", .label_selector = "app=app"}));
    if (!deployment || !pods) return false;
    const auto& status = deployment->status;
    const bool told = status.observed_generation == deployment->metadata.generation && status.replicas == replicas &&
                      status.updated_replicas == replicas && status.available_replicas == replicas;
    if (!told || pods->items.size() != static_cast<std::size_t>(replicas)) return false;
    for (const Pod& pod : pods->items) {
        if (!objects::is_ready(pod) || pod.spec.containers[0].image != image) return false;
    }
    return cluster.running_containers("app-") == static_cast<std::size_t>(replicas);
}

class WholeCluster : public testing::TestWithParam<std::uint64_t> {};

TEST_P(WholeCluster, ADeploymentEndsAsWantedAndNoAcknowledgedWriteIsLost) {
    SCOPED_TRACE("seed " + std::to_string(GetParam()));
    SimCluster cluster(GetParam(), Nodes);
    Writer writer(cluster);
    std::int32_t replicas = 60;
    std::string image = "app:1";
    ASSERT_TRUE(sim::run(cluster.loop(), ensure_deployment(cluster, replicas, image)));

    for (int round = 0; round < Rounds; ++round) {
        cluster.loop().advance(std::chrono::milliseconds(1000 + cluster.random().below(15'000)));
        switch (cluster.random().below(5)) {
            case 0:
                cluster.crash_server();
                break;
            case 1:
                cluster.restart_kubelet(static_cast<int>(cluster.random().below(Nodes)));
                break;
            case 2:
                cluster.kill_some_container();
                break;
            case 3:
                replicas = 30 + static_cast<std::int32_t>(cluster.random().below(50));
                break;
            default:
                image = image == "app:1" ? "app:2" : "app:1";
        }
        ASSERT_TRUE(sim::run(cluster.loop(), ensure_deployment(cluster, replicas, image)));
    }
    cluster.crash_server();

    bool settled = false;
    for (int minute = 0; minute < 15 && !settled; ++minute) {
        cluster.loop().advance(1min);
        settled = is_as_wanted(cluster, replicas, image);
    }
    EXPECT_TRUE(settled) << "wanted " << replicas << " of " << image << ", running " << cluster.running_containers("app-");
    EXPECT_GT(writer.acknowledged().size(), 20u);
    for (const auto& [name, value] : writer.acknowledged()) {
        const auto stored = sim::run(cluster.loop(), cluster.client().get<ConfigMap>({"default", name}));
        ASSERT_TRUE(stored) << name << " was acknowledged and is lost";
        EXPECT_EQ(stored->data.at("value"), value);
    }
    EXPECT_EQ(cluster.denials(), std::vector<std::string>()) << "controllers and scheduler have the rights that they use";
}

/// One seed in ordinary runs; PORTHOLE_SEED chooses another.
std::uint64_t chosen_seed() {
    const char* text = std::getenv("PORTHOLE_SEED");
    return text ? std::strtoull(text, nullptr, 10) : 1;
}
INSTANTIATE_TEST_SUITE_P(Seeds, WholeCluster, testing::Values(chosen_seed()));

}  // namespace
}  // namespace porthole::simulation
