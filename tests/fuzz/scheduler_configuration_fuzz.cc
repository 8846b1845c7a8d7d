// The file of --scheduler-config.
#include "fuzz_target.h"
#include "scheduler/configuration/configuration.h"
#include "scheduler/scheduler_fixture.h"

using namespace porthole;
using namespace porthole::scheduler;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto no_file = [](const std::string&) -> Result<std::string> { return Error(Reason::NotFound, "no such file"); };
    auto read = read_configuration({reinterpret_cast<const char*>(data), size}, no_file);
    if (!read) return 0;
    fuzz::expect(!read->configuration.profiles.empty() && read->configuration.profiles.size() <= MostProfiles);
    // What is accepted can place a pod.
    testing::World world(std::move(read->configuration));
    world.cluster.set_node(testing::node("a"));
    world.cluster.set_node(testing::labeled(testing::node("b", 1000), {{"pool", "blue"}}));
    world.cluster.set_pod(testing::placed(testing::pod("other", 1000), "a"));
    PodInfo pod = testing::pod("p", 500, 1 << 20);
    pod.labels = {{"app", "x"}};
    pod.requests.extended = {{"example.com/gpu", 1}};
    pod.owned_by_set = true;
    (void)world.choice(pod);
    pod.requests.extended.clear();
    (void)world.choice(pod);
    return 0;
}
