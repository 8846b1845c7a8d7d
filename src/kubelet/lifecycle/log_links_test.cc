#include "kubelet/lifecycle/log_links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/sim/memory_file_system.h"
#include "runtime/sim/sim_loop.h"

namespace porthole::kubelet {
namespace {

using testing::ElementsAre;

struct LogLinksTest : testing::Test {
    LogLinksTest() {
        pod.metadata.name = "p";
        pod.metadata.namespace_ = "ns";
    }
    porthole::sim::SimLoop loop;
    porthole::sim::MemoryFileSystem files{loop};
    core::Pod pod;
};

TEST_F(LogLinksTest, NameThePodAndGoWithTheContainer) {
    LogLinks links(files, "/links", Logger(make_null_sink(), ""));
    links.add(pod, "c", "id1", "/logs/0.log");
    links.add(pod, "c", "id2", "/logs/1.log");
    links.remove("id1");
    EXPECT_THAT(files.list("/links").value(), ElementsAre("p_ns_c-id2.log"));
}

TEST_F(LogLinksTest, AreNotMadeWithoutADirectory) {
    LogLinks links(files, "", Logger(make_null_sink(), ""));
    links.add(pod, "c", "id1", "/logs/0.log");
    EXPECT_FALSE(files.exists("/p_ns_c-id1.log"));
}

}  // namespace
}  // namespace porthole::kubelet
