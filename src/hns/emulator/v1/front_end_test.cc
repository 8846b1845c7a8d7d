#include "hns/emulator/emulator_fixture.h"
#include "hns/emulator/operations/namespaces.h"
#include "schema/json/json.h"

namespace porthole::hns::emulator {
namespace {

class FrontEndV1Test : public EmulatorFixture {
protected:
    schema::Value call(const std::string& method, const std::string& path, const std::string& body = "") {
        return *schema::parse_json(get(emulator().call_v1(method, path, body)));
    }
};

// HNS-10: the flow of the old scripts: a bridge, the host's leg on it, a pod.
TEST_F(FrontEndV1Test, ServesTheOldScripts) {
    start();
    const auto made = call("POST", "/networks/",
                           R"({"Name":"cbr0","Type":"l2bridge","NetworkAdapterName":"Ethernet",)"
                           R"("Subnets":[{"AddressPrefix":"10.9.3.0/24","GatewayAddress":"10.9.3.1"}],"DNSServerList":"10.96.0.10"})");
    EXPECT_TRUE(made.at_path({"Success"})->bool_or(false)) << schema::to_json(made);
    const std::string network(made.string_at({"Output", "ID"}));
    EXPECT_EQ(made.string_at({"Output", "Type"}), "L2Bridge");
    loop.advance(std::chrono::seconds(2));
    EXPECT_EQ(call("GET", "/networks/" + network).string_at({"Output", "ManagementIP"}), "192.0.2.13");

    hcn1::Endpoint leg;
    leg.name = "cbr0_ep";
    leg.virtual_network = network;
    leg.ip_address = "10.9.3.2";
    leg.gateway_address = "0.0.0.0";
    const auto host_leg = get(client_v1().create_endpoint(leg));
    EXPECT_EQ(host_leg.virtual_network_name, "cbr0");
    hcn1::EndpointAttachRequest attach;
    attach.system_type = "Host";
    attach.compartment_id = 1;
    done(client_v1().attach_endpoint(host_leg.id, attach));
    EXPECT_EQ(get(client_v1().endpoint(host_leg.id)).state, 2u);
    const auto again = run(client_v1().attach_endpoint(host_leg.id, attach));
    ASSERT_FALSE(again);
    EXPECT_EQ(record_text(again.error()), "This endpoint is already attached to the switch.");
    EXPECT_TRUE(data_plane.made().endpoints.at(host_leg.id)->on_host);
    // Version 2 sees the same.
    EXPECT_EQ(get(client().find<hcn::HostComputeEndpoint>("cbr0_ep"))->id, host_leg.id);
    done(client_v1().detach_endpoint(host_leg.id, attach));
    done(client_v1().remove_endpoint(host_leg.id));
    done(client_v1().remove_network(network));
}

TEST_F(FrontEndV1Test, TranslatesPoliciesBothWays) {
    start();
    const auto bridge = make_bridge();
    hcn1::Endpoint pod;
    pod.virtual_network = bridge.id;
    pod.policies = {
        *schema::parse_json(R"({"Type":"OutBoundNAT","ExceptionList":["10.9.0.0/16"]})"),
        *schema::parse_json(R"({"Type":"ROUTE","DestinationPrefix":"10.96.0.0/12","NeedEncap":true})"),
        *schema::parse_json(R"({"Type":"NAT","Protocol":"TCP","InternalPort":80,"ExternalPort":4444})"),
        *schema::parse_json(R"({"Type":"ACL","Action":"Allow","Direction":"In","Protocol":6,"LocalPort":80,"Priority":10})"),
        *schema::parse_json(R"({"Type":"PA","PA":"192.0.2.13"})"),
    };
    const auto made = get(client_v1().create_endpoint(pod));
    EXPECT_EQ(schema::to_json(made.policies.at(0)), R"({"Type":"OutBoundNAT","ExceptionList":["10.9.0.0/16"]})");
    EXPECT_EQ(schema::to_json(made.policies.at(2)),
              R"({"Type":"NAT","Protocol":"TCP","InternalPort":80,"ExternalPort":4444,"ExternalPortReserved":true})");
    const auto now = get(client().get<hcn::HostComputeEndpoint>(made.id));
    EXPECT_EQ(find_settings<hcn::OutboundNatSettings>(now.policies, "OutBoundNAT")->exceptions.at(0), "10.9.0.0/16");
    EXPECT_TRUE(find_settings<hcn::SdnRoutePolicySettings>(now.policies, "SDNRoute")->need_encap);
    EXPECT_EQ(find_settings<hcn::PortMappingSettings>(now.policies, "PortMapping")->protocol, Protocol::Tcp);
    EXPECT_EQ(find_settings<hcn::AclSettings>(now.policies, "ACL")->local_ports, "80");
    EXPECT_EQ(find_settings<hcn::ProviderAddressSettings>(now.policies, "ProviderAddress")->provider_address, "192.0.2.13");
}

// The start of a proxy: it lists and wipes policy lists, whoever made them.
TEST_F(FrontEndV1Test, ListsAndRemovesLoadBalancersOfVersion2) {
    start();
    const auto pod = make_endpoint(make_bridge().id);
    get(client().create(balancer({pod.id}, {"10.96.7.8"})));
    hcn1::PolicyList old;
    old.references = {"/endpoints/" + pod.id};
    old.policies = {*schema::parse_json(R"({"Type":"ELB","Protocol":6,"InternalPort":80,"ExternalPort":80,"VIPs":["10.96.7.9"]})")};
    get(client_v1().create_policy_list(old));
    const auto lists = get(client_v1().policy_lists());
    ASSERT_EQ(lists.size(), 2u);
    for (const auto& list : lists) {
        EXPECT_EQ(list.references.at(0), "/endpoints/" + pod.id);
        done(client_v1().remove_policy_list(list.id));
    }
    EXPECT_TRUE(get(client().list<hcn::HostComputeLoadBalancer>()).empty());
    EXPECT_EQ(code_of(client_v1().remove_policy_list(lists[0].id)), Hresult::ElementNotFound);
}

TEST_F(FrontEndV1Test, AttachesToTheNamespaceOfAContainer) {
    start();
    const auto pod = make_endpoint(make_bridge().id);
    const auto space = make_namespace();
    hcn1::EndpointAttachRequest attach;
    attach.system_type = "Container";
    attach.container_id = "pause";
    const auto unknown = run(client_v1().attach_endpoint(pod.id, attach));
    ASSERT_FALSE(unknown);
    EXPECT_EQ(hresult_text(hresult_of(unknown.error())), "0xc037010e");
    done(client().attach_container(space.id, "pause"));
    done(client_v1().attach_endpoint(pod.id, attach));
    EXPECT_EQ(get(client_v1().endpoint(pod.id)).shared_containers.size(), 1u);
    done(client_v1().attach_endpoint(pod.id, attach));  // a second container shares it
}

TEST_F(FrontEndV1Test, AnswersVersionStatsAndErrors) {
    start("2019");
    EXPECT_EQ(get(client_v1().version()).minor, 5u);
    EXPECT_TRUE(get(client().features()).direct_server_return);
    const auto pod = make_endpoint(make_bridge().id);
    data_plane.set_counters(pod.id, {.bytes_received = 10, .bytes_sent = 20});
    EXPECT_EQ(get(client_v1().endpoint_stats(pod.id)).bytes_sent, 20u);
    EXPECT_EQ(code_of(client_v1().endpoint_stats("00000000-0000-0000-0000-000000000001")), Hresult::EndpointNotFound);
    const auto missing = call("GET", "/namespaces/00000000-0000-0000-0000-000000000001");
    EXPECT_EQ(missing.string_at({"Error"}), "Element not found. ");
    EXPECT_FALSE(missing.find("Success")->bool_or(true));
    for (const char* path : {"", "/nonsense", "/globals/other", "/a/b/c/d"}) {
        EXPECT_FALSE(call("GET", path).find("Success")->bool_or(true)) << path;
    }
    EXPECT_FALSE(call("POST", "/networks/", "{").find("Success")->bool_or(true));
}

TEST_F(FrontEndV1Test, KeepsNamespacesInItsOwnWords) {
    start();
    const auto made = call("POST", "/namespaces/", R"({"IsDefault":true})");
    const std::string id(made.string_at({"Output", "ID"}));
    EXPECT_EQ(get(client().get<hcn::HostComputeNamespace>(id)).namespace_id, HostCompartment);
    EXPECT_FALSE(call("POST", "/namespaces/", R"({"IsDefault":true})").find("Success")->bool_or(true));
    const auto pod = make_endpoint(make_bridge().id);
    call("POST", "/namespaces/" + id + "/addresource", R"({"Type":"Endpoint","Data":{"Id":")" + pod.id + "\"}}");
    EXPECT_EQ(get(client().get<hcn::HostComputeEndpoint>(pod.id)).host_compute_namespace, id);
    call("POST", "/namespaces/" + id + "/removeresource", R"({"Type":"Endpoint","Data":{"Id":")" + pod.id + "\"}}");
    EXPECT_EQ(get(client().get<hcn::HostComputeEndpoint>(pod.id)).host_compute_namespace, "");
}

}  // namespace
}  // namespace porthole::hns::emulator
