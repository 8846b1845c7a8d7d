#include "hns/emulator/data_plane/linux/linux_data_plane.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "hns/emulator/data_plane/linux/packet_lab.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::hns::emulator {
namespace {

/// Notes what programs are told, and changes nothing.
class FakePrograms final : public ProcessRunner {
public:
    Task<CommandOutput> run(Command command) override {
        if (std::ranges::find(command.arguments, "-force") == command.arguments.end()) co_return CommandOutput();
        removed.push_back(command.input);
        co_return removal;
    }

    std::vector<std::string> removed;
    Result<CommandOutput> removal = CommandOutput();
};

/// A host with an adapter for an endpoint, which is to be removed.
struct LinuxDataPlaneTest : testing::Test {
    LinuxDataPlaneTest() {
        before.networks.put("nat", std::make_shared<Network>(Network{.document = network("nat", "NAT", "10.9.0.0/24", "10.9.0.1")}));
        after = before;
        before.endpoints.put("own", std::make_shared<Endpoint>(Endpoint{
                                        .document = endpoint("own", "nat", "10.9.0.5", "10.9.0.1"), .number = 7, .on_host = true}));
        EXPECT_TRUE(sim::run(loop, plane->restore(before)));
        programs.removed.clear();
    }
    Result<void> remove_endpoint() { return sim::run(loop, plane->apply(before, after, {.endpoints = {"own"}})); }

    sim::SimLoop loop;
    sim::SimWorkerPool pool{loop};
    FakePrograms programs;
    std::unique_ptr<DataPlane> plane =
        make_linux_data_plane(programs, pool, Logger(make_null_sink(), "hns"), {.namespace_folder = "/nothing"});
    Model before, after;
};

TEST_F(LinuxDataPlaneTest, AnAdapterThatHasGoneAlreadyIsRemoved) {
    programs.removal = CommandOutput{.exit_code = 1, .errors = "Cannot find device \"hnsho7\""};
    EXPECT_TRUE(remove_endpoint());
    EXPECT_EQ(programs.removed, std::vector<std::string>{"link del dev hnsho7\n"});
}

TEST_F(LinuxDataPlaneTest, AnAdapterStaysWithItsEndpointWhenThereIsNoTimeToRemoveIt) {
    programs.removal = Error(Reason::Timeout, "ip did not end within 30s and was killed");
    const auto removed = remove_endpoint();
    ASSERT_FALSE(removed);
    EXPECT_EQ(removed.error().reason, Reason::Timeout);
    programs.removed.clear();
    programs.removal = CommandOutput();
    EXPECT_TRUE(remove_endpoint()) << "when it is tried again";
    EXPECT_EQ(programs.removed, std::vector<std::string>{"link del dev hnsho7\n"});
}

}  // namespace
}  // namespace porthole::hns::emulator
