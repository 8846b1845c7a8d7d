#include "cmd/server/server_etcd.h"

#include <gtest/gtest.h>

namespace porthole::cmd {
namespace {

/// What is added to an error of etcd's client.
std::string remedy_of(const std::string& error) {
    return explain_etcd_error(Error(Reason::ServiceUnavailable, error)).message.substr(error.size());
}

TEST(ServerEtcd, AnErrorHasTheRemedyForWhatWasTyped) {
    const std::string certificate = ": it requires a client certificate that it trusts: --etcd-certfile and --etcd-keyfile";
    EXPECT_EQ(remedy_of("https://a:2379: tls: sslv3 alert bad certificate: a"), certificate);
    EXPECT_EQ(remedy_of("https://a:2379: tls: tlsv13 alert certificate required: a"), certificate);
    EXPECT_EQ(remedy_of("https://a:2379: tls: certificate not trusted: a"), ": check --etcd-cafile, --etcd-certfile and --etcd-keyfile");
    EXPECT_EQ(remedy_of("http://a:2379: connection closed by the peer"), ": is it encrypted? Then write https://, with --etcd-cafile");
    EXPECT_EQ(remedy_of("https://a:2379: connection refused: a"), ": check --etcd-servers, and whether etcd runs");
}

}  // namespace
}  // namespace porthole::cmd
