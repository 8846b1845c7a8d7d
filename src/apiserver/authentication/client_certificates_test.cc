#include "apiserver/authentication/client_certificates.h"

#include <gtest/gtest.h>

namespace porthole::apiserver {
namespace {

using namespace std::chrono_literals;

const SystemTime Now{1h};

net::CertificateIdentity of(const std::string& name, const std::string& authority) {
    net::CertificateIdentity identity;
    identity.common_name = name;
    identity.authority = authority;
    return identity;
}

TEST(ClientCertificates, CountOfTheAuthoritiesThatAreTrustedNow) {
    ClientCertificates certificates;
    EXPECT_TRUE(certificates.accepts(of("ann", "old"))) << "nothing is said";
    certificates.trust({"new", "old"});
    EXPECT_TRUE(certificates.accepts(of("ann", "old")));
    EXPECT_TRUE(certificates.accepts(of("ann", "new")));
    certificates.trust({"new"});
    EXPECT_FALSE(certificates.accepts(of("ann", "old"))) << "a connection that began before";
    EXPECT_TRUE(certificates.accepts(of("ann", "new")));
}

TEST(ClientCertificates, TellWhoShowedWhichLast) {
    ClientCertificates certificates;
    certificates.trust({"old"});
    certificates.saw(of("ann", "old"), Now);
    EXPECT_TRUE(certificates.sightings().empty()) << "there is nothing to tell apart";
    certificates.trust({"new", "old"});
    certificates.saw(of("ann", "old"), Now);
    certificates.saw(of("node", "old"), Now);
    certificates.saw(of("node", "new"), Now + 1min);
    ASSERT_EQ(certificates.sightings().size(), 2u);
    EXPECT_EQ(certificates.sightings().at("ann").authority, "old");
    EXPECT_EQ(certificates.sightings().at("node").authority, "new");
    EXPECT_EQ(certificates.sightings().at("node").time, Now + 1min);
    for (std::size_t i = 0; i < 2 * ClientCertificates::MostClients; ++i) certificates.saw(of("n" + std::to_string(i), "old"), Now);
    EXPECT_EQ(certificates.sightings().size(), ClientCertificates::MostClients);
    certificates.trust({"new"});
    EXPECT_TRUE(certificates.sightings().empty());
}

}  // namespace
}  // namespace porthole::apiserver
