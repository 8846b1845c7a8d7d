#include "local_cluster/state/server_arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace porthole::local_cluster {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

TEST(ServerArguments, AreNamesAndValues) {
    const auto read =
        parse_server_arguments({"--runtime-config=extensions/v1beta1=true", "audit-policy-file=", "feature-gates=A=true,B=false"});
    ASSERT_TRUE(read);
    EXPECT_THAT(*read, ElementsAre(Pair("audit-policy-file", ""), Pair("feature-gates", "A=true,B=false"),
                                   Pair("runtime-config", "extensions/v1beta1=true")));
    EXPECT_THAT(parse_server_arguments({"feature-gates"}).error().message, HasSubstr("write NAME=VALUE"));
    EXPECT_THAT(parse_server_arguments({"a=1", "--a=2"}).error().message, HasSubstr("--server-arg a is given twice"));
}

TEST(ServerArguments, DoNotChangeWhatTheOtherPartsOfTheClusterNeedToo) {
    EXPECT_TRUE(check_server_arguments({{"audit-policy-file", "/etc/audit.yaml"}}));
    for (const char* name : {"port", "data", "etcd-servers", "service-cluster-ip-range"})
        EXPECT_THAT(check_server_arguments({{name, "1"}}).error().message, HasSubstr(std::string("sets the server's option --") + name));
    for (const char* name : {"", "-v", "--v", "a b", "a=b"})
        EXPECT_THAT(check_server_arguments({{name, "1"}}).error().message, HasSubstr("is not the name of an option"));
}

TEST(ServerArguments, TakeThePlaceOfThoseOfTheCluster) {
    EXPECT_THAT(with_server_arguments({"server", "--port", "1", "--audit-log-maxsize", "20", "--revive", "--backend", "vxlan"},
                                      {{"audit-log-maxsize", "5"}, {"revive", "false"}, {"tls-min-version", "VersionTLS13"}}),
                ElementsAre("server", "--port", "1", "--backend", "vxlan", "--audit-log-maxsize=5", "--revive=false",
                            "--tls-min-version=VersionTLS13"));
}

}  // namespace
}  // namespace porthole::local_cluster
