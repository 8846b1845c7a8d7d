#include "base/flag_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace porthole {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

struct FlagSetTest : testing::Test {
    FlagSetTest() {
        flags.add("hostname-override", name, "the node's name");
        flags.add("windows-service", service, "run as a service");
        flags.add("max-pods", pods, "pods at most");
        flags.add("cluster-dns", servers, "addresses of DNS");
        flags.add("kube-reserved", reserved, "for the kubelet");
        flags.add_ignored("network-plugin", "the runtime finds the network");
        flags.add_alias("service", "windows-service");
    }
    std::string failure(std::vector<std::string> words) {
        const auto parsed = flags.parse(words);
        return parsed ? "" : parsed.error().message;
    }
    FlagSet flags;
    std::string name;
    bool service = false;
    std::int64_t pods = 110;
    std::vector<std::string> servers{"default"};
    std::map<std::string, std::string> reserved;
};

TEST_F(FlagSetTest, TakesEveryPublishedForm) {
    EXPECT_EQ(failure({"--hostname_override=n1", "--max-pods", "20", "-cluster-dns=10.0.0.1, 10.0.0.2", "--cluster-dns=10.0.0.3",
                       "--service", "--kube-reserved=cpu=500m,memory=1Gi"}),
              "");
    EXPECT_EQ(name, "n1");
    EXPECT_EQ(pods, 20);
    EXPECT_TRUE(service);
    EXPECT_THAT(servers, ElementsAre("10.0.0.1", "10.0.0.2", "10.0.0.3"));
    EXPECT_THAT(reserved, ElementsAre(Pair("cpu", "500m"), Pair("memory", "1Gi")));
    EXPECT_TRUE(flags.given("max-pods"));
}

TEST_F(FlagSetTest, EmptyListsClearDefaults) {
    EXPECT_EQ(failure({"--cluster-dns="}), "");
    EXPECT_THAT(servers, IsEmpty());
}

// KBL-02
TEST_F(FlagSetTest, FlagsOfOlderReleasesWarn) {
    EXPECT_EQ(failure({"--network-plugin=cni"}), "");
    EXPECT_THAT(flags.warnings(), ElementsAre("flag --network-plugin has no effect: the runtime finds the network"));
}

// KBL-03
TEST_F(FlagSetTest, UnknownFlagsGetASuggestion) {
    EXPECT_EQ(failure({"--kubelet-reserve=cpu=1"}), "unknown flag --kubelet-reserve; did you mean --kube-reserved?");
    EXPECT_EQ(failure({"--colour=red"}), "unknown flag --colour; --help lists the flags");
}

TEST_F(FlagSetTest, WrongValuesNameTheFlag) {
    EXPECT_THAT(failure({"--max-pods=many"}), HasSubstr("\"many\" for --max-pods: must be a whole number"));
    EXPECT_THAT(failure({"--windows-service=maybe"}), HasSubstr("must be true or false"));
    EXPECT_THAT(failure({"--max-pods"}), HasSubstr("needs a value"));
    EXPECT_THAT(failure({"n1"}), HasSubstr("unexpected argument"));
}

}  // namespace
}  // namespace porthole
