#include "api/core_v1.h"
#include "api/resource_v1.h"
#include "apiserver/admission/admission_fixture.h"

namespace porthole::apiserver {
namespace {

using namespace api::resource::v1;

/// Allows "<verb> <subresource> <name>" of a list.
struct Rights final : Authorizer {
    Task<Decision> authorize(const AuthorizationAttributes& attributes) override {
        EXPECT_EQ(attributes.resource, "resourceclaims");
        const std::string asked = attributes.verb + " " + attributes.subresource + " " + attributes.name;
        co_return granted == asked ? Decision::allow() : Decision::no_opinion();
    }
    std::string granted;
};

struct ResourceClaimAccessTest : AdmissionTest {
    static ResourceClaim claim(bool admin = false) {
        auto made = named<ResourceClaim>("ns", "c");
        auto& request = made.spec.devices.requests.emplace_back();
        request.name = "r";
        request.exactly.emplace().admin_access = admin;
        return made;
    }
    /// With the device "d" of the driver "d.example.com" on the node "n".
    static ResourceClaim allocated() {
        ResourceClaim made = claim();
        auto& allocation = made.status.allocation.emplace();
        allocation.devices.results.emplace_back().driver = "d.example.com";
        allocation.node_selector.emplace().node_selector_terms = {
            {.match_fields = {{.key = "metadata.name", .operator_ = "In", .values = {"n"}}}}};
        return made;
    }
    Rights rights;
    AdmissionDependencies with_rights{
        .reader = reader_, .rbac = rbac_, .authorizer = rights, .random = random_, .loop = loop_, .systems = {}};
    AdmissionPluginPtr access = make_resource_claim_access(with_rights);
};

TEST_F(ResourceClaimAccessTest, AdministratorsAccessIsForMarkedNamespaces) {
    auto space = named<api::core::v1::Namespace>("", "ns");
    put(space);
    const std::string refused =
        "ResourceClaim.resource.k8s.io \"c\" is invalid: spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires "
        "the "
        "`resource.kubernetes.io/admin-access: true` label on the containing namespace";
    EXPECT_EQ(create(*access, claim()), "");
    EXPECT_EQ(create(*access, claim(true)), refused);
    auto from = named<ResourceClaimTemplate>("ns", "t");
    from.spec.spec = claim(true).spec;
    EXPECT_TRUE(create(*access, from).contains("admin access to devices requires"));
    space.metadata.labels["resource.kubernetes.io/admin-access"] = "true";
    put(space);
    EXPECT_EQ(create(*access, claim(true)), "");
    EXPECT_EQ(create(*access, from), "");
}

TEST_F(ResourceClaimAccessTest, AllocatingTakesTheRightToBind) {
    EXPECT_EQ(update(*access, claim(), claim(), "status"), "");
    EXPECT_EQ(
        update(*access, claim(), allocated(), "status"),
        "ResourceClaim.resource.k8s.io \"c\" is invalid: status.allocation: Forbidden: changing status.allocation or status.reservedFor "
        "requires resource=\"resourceclaims/binding\", verb=\"update\" permission: resourceclaims.resource.k8s.io is forbidden: User "
        "\"jane\" cannot update resource \"resourceclaims/binding\" in API group \"resource.k8s.io\" at the cluster scope");
    rights.granted = "patch binding ";
    EXPECT_EQ(update(*access, claim(), allocated(), "status"), "");
}

TEST_F(ResourceClaimAccessTest, DriversTellOfTheirOwnDevices) {
    ResourceClaim told = allocated();
    told.status.devices.emplace_back().driver = "d.example.com";
    EXPECT_TRUE(update(*access, allocated(), told, "status").contains("cannot arbitrary-node:update resource \"resourceclaims/driver\""));
    rights.granted = "associated-node:update driver d.example.com";
    EXPECT_NE(update(*access, allocated(), told, "status"), "") << "jane is on no node";
    user_ = {.name = "system:serviceaccount:ns:driver", .extra = {{"authentication.kubernetes.io/node-name", {"n"}}}};
    EXPECT_EQ(update(*access, allocated(), told, "status"), "");
    EXPECT_EQ(update(*access, told, allocated(), "status"), "");
    user_.extra["authentication.kubernetes.io/node-name"] = {"other"};
    EXPECT_NE(update(*access, allocated(), told, "status"), "");
    rights.granted = "arbitrary-node:update driver d.example.com";
    EXPECT_EQ(update(*access, allocated(), told, "status"), "");
    rights.granted = "arbitrary-node:update driver other.example.com";
    EXPECT_NE(update(*access, allocated(), told, "status"), "");
}

}  // namespace
}  // namespace porthole::apiserver
