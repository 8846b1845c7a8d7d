#include "hns/documents.h"

#include <gtest/gtest.h>

#include "hns/guid.h"
#include "hns/hresult.h"
#include "hns/policies.h"
#include "schema/json/json.h"

namespace porthole::hns {
namespace {

// The overlay network that a node network manager asks for, with the empty structs that Go clients send. HNS-02
constexpr const char* OverlayNetwork =
    R"({"Name":"vxlan0","Type":"Overlay","Policies":[{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"Ethernet"}}],"MacPool":{},)"
    R"("Dns":{},"Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":"10.9.3.0/24","Policies":[{"Type":"VSID","Settings":)"
    R"({"IsolationId":4096}}],"Routes":[{"NextHop":"10.9.3.1","DestinationPrefix":"0.0.0.0/0"}]}]}],"Flags":8,"Health":{"Extra":{}},)"
    R"("SchemaVersion":{"Major":2,"Minor":0}})";

TEST(HnsDocuments, ReadsWhatClientsSendAndLeavesOutWhatIsEmpty) {
    const auto network = parse_document<hcn::HostComputeNetwork>(OverlayNetwork);
    ASSERT_TRUE(network) << network.error().message;
    EXPECT_EQ(network->type, hcn::NetworkMode::Overlay);
    EXPECT_EQ(network->flags, NetworkFlags::EnableNonPersistent);
    const hcn::Subnet& subnet = network->ipams[0].subnets[0];
    EXPECT_EQ(find_settings<hcn::IsolationSettings>(subnet.policies, "VSID")->isolation_id, 4096u);
    EXPECT_EQ(write_document(*network),
              R"({"Name":"vxlan0","Type":"Overlay","Policies":[{"Type":"NetAdapterName","Settings":{"NetworkAdapterName":"Ethernet"}}],)"
              R"("Ipams":[{"Type":"Static","Subnets":[{"IpAddressPrefix":"10.9.3.0/24","Policies":[{"Type":"VSID","Settings":)"
              R"({"IsolationId":4096}}],"Routes":[{"NextHop":"10.9.3.1","DestinationPrefix":"0.0.0.0/0"}]}]}],"Flags":8,)"
              R"("SchemaVersion":{"Major":2,"Minor":0}})");
}

TEST(HnsDocuments, ReadsMembersInAnyCaseAndFlagsAsWordsOrNumbers) {
    const struct {
        const char* name;
        const char* json;
        std::uint32_t flags;
    } rows[] = {
        {"number", R"({"flags":9})", 9},
        {"word", R"({"Flags":"EnableNonPersistent"})", 8},
        {"words", R"({"FLAGS":"enableDnsProxy, EnableNonPersistent"})", 9},
        {"empty text", R"({"Flags":""})", 0},
        {"null", R"({"Flags":null})", 0},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        const auto network = parse_document<hcn::HostComputeNetwork>(row.json);
        ASSERT_TRUE(network) << network.error().message;
        EXPECT_EQ(network->flags, row.flags);
    }
    EXPECT_EQ(parse_document<hcn::HostComputeNetwork>(R"({"type":"l2bridge"})")->type, "L2Bridge");
    EXPECT_EQ(parse_document<hcn::HostComputeNetwork>(R"({"Type":5})")->type, "Overlay");
    EXPECT_EQ(parse_document<hcn::LoadBalancerPortMapping>(R"({"Protocol":"tcp"})")->protocol, Protocol::Tcp);
    EXPECT_FALSE(parse_document<hcn::HostComputeNetwork>(R"({"Flags":"EnableNonsense"})"));
}

TEST(HnsDocuments, RefusesWhatIsNoDocument) {
    for (const char* json : {"", "[]", "7", "{", R"({"Flags":-1})", R"({"Ipams":{}})", R"({"Name":3})"}) {
        EXPECT_FALSE(parse_document<hcn::HostComputeNetwork>(json)) << json;
    }
}

TEST(HnsDocuments, ReadsRoutesUnderBothNames) {
    for (const char* json : {R"({"Routes":[{"DestinationPrefix":"10.0.0.0/8"}]})", R"({"Setting":[{"DestinationPrefix":"10.0.0.0/8"}]})"}) {
        const auto route = parse_document<hcn::HostComputeRoute>(json);
        ASSERT_TRUE(route && route->setting.size() == 1) << json;
        EXPECT_EQ(route->setting[0].destination_prefix, "10.0.0.0/8");
    }
}

// HNS-05, HNS-08: policies as their clients write them.
TEST(HnsDocuments, KnowsPoliciesByOwnerAndBringsThemIntoOneForm) {
    hcn::Policy policy;
    policy.type = "outboundnat";
    policy.settings = *schema::parse_json(R"({"exceptions":["10.9.0.0/16"],"VirtualIP":"","Flags":"None"})");
    const auto canonical = canonical_policy(PolicyOwner::Endpoint, policy);
    ASSERT_TRUE(canonical) << canonical.error().message;
    EXPECT_EQ(write_document(*canonical), R"({"Type":"OutBoundNAT","Settings":{"Exceptions":["10.9.0.0/16"]}})");

    const auto misplaced = canonical_policy(PolicyOwner::Network, policy);
    ASSERT_FALSE(misplaced);
    EXPECT_EQ(hresult_of(misplaced.error()), Hresult::InvalidPolicyType);
    policy.settings = *schema::parse_json(R"({"Exceptions":"10.9.0.0/16"})");
    const auto wrong = canonical_policy(PolicyOwner::Endpoint, policy);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(hresult_of(wrong.error()), Hresult::InvalidPolicy);
}

TEST(HnsDocuments, ComparesIdsAndMacsWithoutCase) {
    EXPECT_TRUE(same_guid("{4b5e6b2b-1a2c-4d5e-8f00-0123456789ab}", "4B5E6B2B-1A2C-4D5E-8F00-0123456789AB"));
    EXPECT_FALSE(same_guid("x", "x"));
    EXPECT_FALSE(is_guid("4b5e6b2b-1a2c-4d5e-8f000123456789ab-"));
    EXPECT_EQ(canonical_mac("0e:2a:0a:09:03:07"), "0E-2A-0A-09-03-07");
    EXPECT_EQ(canonical_mac("0e:2a:0a:09:03"), "");
}

}  // namespace
}  // namespace porthole::hns
