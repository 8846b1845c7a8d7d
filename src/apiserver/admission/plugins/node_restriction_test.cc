#include "api/authentication_v1.h"
#include "api/certificates_v1beta1.h"
#include "api/coordination_v1.h"
#include "api/core_v1.h"
#include "api/storage_v1.h"
#include "apiserver/admission/admission_fixture.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using api::authentication::v1::BoundObjectReference;
using api::authentication::v1::TokenRequest;
using api::coordination::v1::Lease;

class NodeRestrictionTest : public AdmissionTest {
protected:
    NodeRestrictionTest() { user_ = {.name = "system:node:n1", .groups = {"system:nodes"}}; }

    static Pod mirror_pod() {
        Pod pod = named<Pod>("kube-system", "static-n1");
        pod.metadata.annotations["kubernetes.io/config.mirror"] = "hash";
        pod.metadata.owner_references.push_back({.api_version = "v1", .kind = "Node", .name = "n1", .uid = "1", .controller = true});
        pod.spec.node_name = "n1";
        return pod;
    }
    static Pod pod_on(const std::string& node) {
        Pod pod = named<Pod>("a", "web", "uid-web");
        pod.spec.node_name = node;
        return pod;
    }
    AdmissionPluginPtr plugin_ = make_node_restriction(given_);
};

TEST_F(NodeRestrictionTest, LeavesOtherUsersAlone) {
    user_ = {.name = "jane"};
    EXPECT_EQ(create(*plugin_, named<Pod>("a", "web")), "");
}

TEST_F(NodeRestrictionTest, ANodeMakesOnlyItsOwnMirrorPods) {
    put(named<Node>("", "n1", "1"));
    EXPECT_EQ(create(*plugin_, mirror_pod()), "");
    const struct {
        const char* name;
        void (*change)(Pod&);
        const char* refusal;
    } rows[] = {
        {"no mirror", [](Pod& pod) { pod.metadata.annotations.clear(); },
         "pod does not have \"kubernetes.io/config.mirror\" annotation, node \"n1\" can only create pods that are mirror pods"},
        {"elsewhere", [](Pod& pod) { pod.spec.node_name = "n2"; }, "node \"n1\" can only create pods with spec.nodeName set to itself"},
        {"another owner", [](Pod& pod) { pod.metadata.owner_references[0].name = "n2"; },
         "node \"n1\" can only create pods with an owner reference set to itself"},
        {"no owner", [](Pod& pod) { pod.metadata.owner_references.clear(); },
         "node \"n1\" can only create pods with an owner reference set to itself"},
        {"an owner of old", [](Pod& pod) { pod.metadata.owner_references[0].uid = "0"; }, "node n1 UID mismatch: expected 0 got 1"},
        {"an owner that controls nothing", [](Pod& pod) { pod.metadata.owner_references[0].controller.reset(); },
         "node \"n1\" can only create pods with a controller owner reference set to itself"},
        {"an account", [](Pod& pod) { pod.spec.service_account_name = "robot"; },
         "node \"n1\" can not create pods that reference serviceaccounts"},
        {"an account by its old name", [](Pod& pod) { pod.spec.service_account = "robot"; },
         "node \"n1\" can not create pods that reference serviceaccounts"},
        {"a secret volume", [](Pod& pod) { pod.spec.volumes.emplace_back().secret.emplace().secret_name = "s"; },
         "node \"n1\" can not create pods that reference secrets (via secret volumes)"},
        {"a projected secret",
         [](Pod& pod) { pod.spec.volumes.emplace_back().projected.emplace().sources.emplace_back().secret.emplace().name = "s"; },
         "node \"n1\" can not create pods that reference secrets (via projected volumes)"},
        {"a trust bundle",
         [](Pod& pod) { pod.spec.volumes.emplace_back().projected.emplace().sources.emplace_back().cluster_trust_bundle.emplace(); },
         "node \"n1\" can not create pods that reference clustertrustbundles"},
        {"a certificate",
         [](Pod& pod) { pod.spec.volumes.emplace_back().projected.emplace().sources.emplace_back().pod_certificate.emplace(); },
         "node \"n1\" can not create pods that reference podcertificates"},
        {"a claim", [](Pod& pod) { pod.spec.volumes.emplace_back().persistent_volume_claim.emplace().claim_name = "c"; },
         "node \"n1\" can not create pods that reference persistentvolumeclaims"},
        {"an ephemeral volume", [](Pod& pod) { pod.spec.volumes.emplace_back().ephemeral.emplace(); },
         "node \"n1\" can not create pods that reference persistentvolumeclaims (via ephemeral volumes)"},
        {"a pull secret", [](Pod& pod) { pod.spec.image_pull_secrets.push_back({.name = "s"}); },
         "node \"n1\" can not create pods that reference secrets"},
        {"a variable from a secret",
         [](Pod& pod) { pod.spec.containers.emplace_back().env.emplace_back().value_from.emplace().secret_key_ref.emplace().name = "s"; },
         "node \"n1\" can not create pods that reference secrets"},
        {"variables of a secret, before",
         [](Pod& pod) { pod.spec.init_containers.emplace_back().env_from.emplace_back().secret_ref.emplace().name = "s"; },
         "node \"n1\" can not create pods that reference secrets"},
        {"variables of a config map",
         [](Pod& pod) { pod.spec.containers.emplace_back().env_from.emplace_back().config_map_ref.emplace().name = "s"; },
         "node \"n1\" can not create pods that reference configmaps"},
        {"a CSI volume", [](Pod& pod) { pod.spec.volumes.emplace_back().csi.emplace().driver = "d"; },
         "node \"n1\" can not create pods that reference csidrivers (via CSI volumes)"},
        {"a resource claim", [](Pod& pod) { pod.spec.resource_claims.emplace_back().name = "c"; },
         "node \"n1\" can not create pods that reference resourceclaims"},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.name);
        Pod pod = mirror_pod();
        row.change(pod);
        EXPECT_EQ(create(*plugin_, pod), std::string("pods \"static-n1\" is forbidden: ") + row.refusal);
    }
}

TEST_F(NodeRestrictionTest, ANodeTouchesOnlyThePodsOnIt) {
    EXPECT_EQ(update(*plugin_, pod_on("n1"), pod_on("n1"), "status"), "");
    EXPECT_EQ(update(*plugin_, pod_on("n2"), pod_on("n2"), "status"),
              "pods \"web\" is forbidden: node \"n1\" can only update status for pods with spec.nodeName set to itself");
    Pod relabeled = pod_on("n1");
    relabeled.metadata.labels["x"] = "y";
    EXPECT_EQ(update(*plugin_, pod_on("n1"), relabeled, "status"),
              "pods \"web\" is forbidden: node \"n1\" cannot update labels through pod status");
    Pod claiming = pod_on("n1"), extended = pod_on("n1");
    claiming.status.resource_claim_statuses.emplace_back().resource_claim_name = "of-another";
    EXPECT_EQ(update(*plugin_, pod_on("n1"), claiming, "status"),
              "pods \"web\" is forbidden: node \"n1\" cannot update resource claim statues");
    extended.status.extended_resource_claim_status.emplace().resource_claim_name = "of-another";
    EXPECT_EQ(update(*plugin_, pod_on("n1"), extended, "status"),
              "pods \"web\" is forbidden: node \"n1\" cannot update extended resource claim status");
    EXPECT_NE(update(*plugin_, pod_on("n1"), pod_on("n1")), "");
    EXPECT_EQ(remove_object(*plugin_, pod_on("n1")), "");
    EXPECT_EQ(remove_object(*plugin_, pod_on("n2")),
              "pods \"web\" is forbidden: node \"n1\" can only delete pods with spec.nodeName set to itself");
}

TEST_F(NodeRestrictionTest, ANodeTellsOnlyHowAClaimGrows) {
    PersistentVolumeClaim claim = named<PersistentVolumeClaim>("a", "data");
    claim.status.phase = "Bound";
    PersistentVolumeClaim grown = claim, lost = claim, annotated = claim;
    grown.status.capacity["storage"] = *Quantity::parse("2Gi");
    lost.status.phase = "Lost";
    annotated.metadata.annotations["x"] = "y";
    EXPECT_EQ(update(*plugin_, claim, grown, "status"), "");
    const char* refusal =
        "persistentvolumeclaims \"data\" is forbidden: node \"n1\" is not allowed to update fields other than status.capacity and "
        "status.conditions";
    EXPECT_EQ(update(*plugin_, claim, lost, "status"), refusal);
    EXPECT_EQ(update(*plugin_, claim, annotated, "status"), refusal);
    EXPECT_NE(update(*plugin_, claim, grown), "");
}

TEST_F(NodeRestrictionTest, ANodeLetsOnlyGoOfVolumesThatAreOnItAndBeingDeleted) {
    PersistentVolume volume = named<PersistentVolume>("", "v");
    volume.metadata.labels["local.porthole.io/node"] = "n1";
    volume.metadata.finalizers = {"kubernetes.io/pv-protection", "local.porthole.io/node-data"};
    volume.spec.csi.emplace().driver = "local.porthole.io";
    const auto free = [](PersistentVolume volume) {
        volume.metadata.finalizers = {"kubernetes.io/pv-protection"};
        return volume;
    };
    const char* refusal =
        "persistentvolumes \"v\" is forbidden: node \"n1\" is not allowed to update fields other than its finalizer of a volume that is "
        "being "
        "deleted";
    EXPECT_EQ(update(*plugin_, volume, free(volume)), refusal) << "not being deleted";
    volume.metadata.deletion_timestamp = Timestamp::from_seconds(1);
    EXPECT_EQ(update(*plugin_, volume, free(volume)), "");
    PersistentVolume more = free(volume), stolen = free(volume);
    more.metadata.finalizers.clear();
    EXPECT_EQ(update(*plugin_, volume, more), refusal);
    stolen.spec.claim_ref.emplace().name = "x";
    EXPECT_EQ(update(*plugin_, volume, stolen), refusal);
    EXPECT_NE(update(*plugin_, volume, free(volume), "status"), "");
    EXPECT_NE(remove_object(*plugin_, volume), "");
    volume.metadata.labels["local.porthole.io/node"] = "n2";
    EXPECT_EQ(update(*plugin_, volume, free(volume)),
              "persistentvolumes \"v\" is forbidden: node \"n1\" can only update volumes on itself");
}

TEST_F(NodeRestrictionTest, ANodeChangesOnlyItself) {
    EXPECT_EQ(create(*plugin_, named<Node>("", "n1")), "");
    EXPECT_EQ(create(*plugin_, named<Node>("", "n2")), "nodes \"n2\" is forbidden: node \"n1\" is not allowed to modify node \"n2\"");

    Node node = named<Node>("", "n1");
    Node changed = node;
    changed.spec.taints.push_back({.key = "x", .effect = "NoSchedule"});
    EXPECT_EQ(update(*plugin_, node, changed), "nodes \"n1\" is forbidden: node \"n1\" is not allowed to modify taints");
}

TEST_F(NodeRestrictionTest, ANodeChoosesNoAddressesForItsPods) {
    const std::string refusal = "nodes \"n1\" is forbidden: node \"n1\" is not allowed to set podCIDR or podCIDRs";
    Node node = named<Node>("", "n1"), changed = node;
    changed.spec.pod_cidr = "192.0.2.0/24";
    EXPECT_EQ(create(*plugin_, changed), refusal);
    EXPECT_EQ(update(*plugin_, node, changed), refusal);
    node.spec.pod_cidrs = {"10.244.1.0/24"};
    changed = node;
    changed.metadata.annotations["a"] = "b";
    EXPECT_EQ(update(*plugin_, node, changed), "") << "it keeps those that it has been given";
    changed.spec.pod_cidrs.emplace_back("fd00::/64");
    EXPECT_EQ(update(*plugin_, node, changed), refusal);
}

TEST_F(NodeRestrictionTest, ANodeNamesNoVxlanAddressOfAnother) {
    const auto with = [](const char* name, const std::string& mac, const std::string& address) {
        Node node = named<Node>("", name);
        node.metadata.annotations["flannel.alpha.coreos.com/backend-data"] = R"({"VNI":4096,"VtepMAC":")" + mac + R"("})";
        node.metadata.annotations["flannel.alpha.coreos.com/public-ip"] = address;
        return node;
    };
    put(with("n2", "5e:00:00:00:00:02", "192.0.2.2"));
    const std::string refusal = "nodes \"n1\" is forbidden: node \"n1\" is not allowed to name the VXLAN address of node \"n2\"";
    const Node bare = named<Node>("", "n1"), own = with("n1", "5e:00:00:00:00:01", "192.0.2.1");
    put(own);
    EXPECT_EQ(create(*plugin_, Node(own)), "");
    EXPECT_EQ(update(*plugin_, bare, own), "");
    for (const char* mac : {"5e:00:00:00:00:02", "5E:00:00:00:00:02", "5e-00-00-00-00-02"}) {
        const Node thief = with("n1", mac, "192.0.2.1");
        EXPECT_EQ(create(*plugin_, Node(thief)), refusal) << mac;
        EXPECT_EQ(update(*plugin_, own, thief), refusal) << mac;
        EXPECT_EQ(update(*plugin_, own, thief, "status"), refusal) << mac;
        EXPECT_EQ(update(*plugin_, thief, thief), "") << "nothing changes";
    }
    const Node renamed = with("n1", "5e:00:00:00:00:02", "192.0.2.2");
    EXPECT_EQ(create(*plugin_, Node(renamed)), "") << "the same machine as n2";
    for (const char* annotation : {"public-ip", "public-ip-overwrite"}) {
        Node moved = renamed;
        moved.metadata.annotations[std::string("flannel.alpha.coreos.com/") + annotation] = "192.0.2.1";
        EXPECT_EQ(update(*plugin_, renamed, moved), refusal) << annotation;
    }
    Node moved = renamed;
    moved.metadata.annotations.erase("flannel.alpha.coreos.com/public-ip");
    moved.status.addresses = {{.type = "InternalIP", .address = "192.0.2.1"}};
    EXPECT_EQ(update(*plugin_, renamed, moved, "status"), refusal);
}

TEST_F(NodeRestrictionTest, ANodeSetsOnlyLabelsOfKubelets) {
    const struct {
        const char* label;
        bool allowed;
    } rows[] = {
        {"kubernetes.io/hostname", true},
        {"topology.kubernetes.io/zone", true},
        {"node.kubernetes.io/instance-type", true},
        {"a.kubelet.kubernetes.io/b", true},
        {"example.com/mine", true},
        {"plain", true},
        {"node-role.kubernetes.io/master", false},
        {"node-restriction.kubernetes.io/x", false},
        {"a.node-restriction.kubernetes.io/x", false},
        {"k8s.io/x", false},
    };
    for (const auto& row : rows) {
        SCOPED_TRACE(row.label);
        Node node = named<Node>("", "n1");
        node.metadata.labels[row.label] = "x";
        EXPECT_EQ(create(*plugin_, node).empty(), row.allowed);
        EXPECT_EQ(update(*plugin_, node, named<Node>("", "n1")).empty(), row.allowed) << "removal";
    }
}

TEST_F(NodeRestrictionTest, ANodeHoldsOnlyItsLease) {
    EXPECT_EQ(create(*plugin_, named<Lease>("kube-node-lease", "n1")), "");
    EXPECT_NE(create(*plugin_, named<Lease>("kube-node-lease", "n2")), "");
}

TEST_F(NodeRestrictionTest, ANodeAsksTokensForItsPods) {
    Pod pod = pod_on("n1");
    pod.spec.volumes.emplace_back().projected.emplace().sources.emplace_back().service_account_token.emplace().path = "token";
    put(pod);
    const auto ask = [&](const std::string& uid) {
        TokenRequest request = named<TokenRequest>("a", "robot");
        if (!uid.empty())
            request.spec.bound_object_ref = BoundObjectReference{.kind = "Pod", .api_version = "v1", .name = "web", .uid = uid};
        ApiObject body = ApiObject::of(request);
        return pass(*plugin_, AdmissionOperation::Create, request.metadata, ServiceAccount::kind(), &body, nullptr, "token");
    };
    EXPECT_EQ(ask("uid-web"), "");
    EXPECT_EQ(ask(""), "serviceaccounts \"robot\" is forbidden: node requested token not bound to a pod");
    EXPECT_NE(ask("uid-of-a-namesake"), "");
    put(pod_on("n2"));
    EXPECT_EQ(ask("uid-web"), "serviceaccounts \"robot\" is forbidden: node requested token bound to a pod scheduled on a different node");
}

TEST_F(NodeRestrictionTest, ANodeAsksForCertificatesOfItsPodsAsWhoTheyAre) {
    using namespace api::certificates::v1beta1;
    put(named<Node>("", "n1", "uid-n1"));
    put(named<ServiceAccount>("a", "robot", "uid-robot"));
    Pod pod = pod_on("n1");
    pod.spec.service_account_name = "robot";
    put(pod);
    PodCertificateRequest right = named<PodCertificateRequest>("a", "r");
    right.spec = {.signer_name = "x.io/s",
                  .pod_name = "web",
                  .pod_uid = "uid-web",
                  .service_account_name = "robot",
                  .service_account_uid = "uid-robot",
                  .node_name = "n1",
                  .node_uid = "uid-n1"};
    EXPECT_EQ(create(*plugin_, right), "");
    const std::string forbidden = "podcertificaterequests.certificates.k8s.io \"r\" is forbidden: ",
                      of_pod = "PodCertificateRequest for pod \"a/web\" ";
    const struct {
        std::string PodCertificateRequestSpec::* field;
        const char* value;
        std::string refusal;
    } rows[] = {
        {&PodCertificateRequestSpec::node_name, "n2",
         forbidden + "PodCertificateRequest.Spec.NodeName=\"n2\", which is not the requesting node \"n1\""},
        {&PodCertificateRequestSpec::node_uid, "old", of_pod + "names node UID \"old\", inconsistent with the running node (\"uid-n1\")"},
        {&PodCertificateRequestSpec::pod_name, "none", "pods \"none\" not found"},
        {&PodCertificateRequestSpec::pod_uid, "old", of_pod + "contains pod UID (\"old\") which differs from running pod \"uid-web\""},
        {&PodCertificateRequestSpec::service_account_name, "admin",
         forbidden + of_pod + "contains serviceAccountName (\"admin\") that differs from running pod (\"robot\")"},
        {&PodCertificateRequestSpec::service_account_uid, "old",
         of_pod + "names service account UID \"old\", which differs from the running service account (\"uid-robot\")"},
    };
    for (const auto& row : rows) {
        PodCertificateRequest wrong = right;
        wrong.spec.*row.field = row.value;
        EXPECT_EQ(create(*plugin_, wrong), row.refusal);
    }
    EXPECT_NE(update(*plugin_, right, right), "") << "nodes change no requests";
    pod.metadata.annotations["kubernetes.io/config.mirror"] = "hash";
    put(pod);
    EXPECT_EQ(create(*plugin_, right), forbidden + "pod \"a/web\" is a mirror pod");
    put(pod_on("n2"));
    EXPECT_EQ(create(*plugin_, right), forbidden + "pod \"a/web\" is not running on node \"n1\" named in the PodCertificateRequest");
}

TEST_F(NodeRestrictionTest, ANodeAsksTokensForTheAudiencesThatItsPodNeeds) {
    const auto ask = [&](std::vector<std::string> audiences) {
        TokenRequest request = named<TokenRequest>("a", "robot");
        request.spec.bound_object_ref = BoundObjectReference{.kind = "Pod", .api_version = "v1", .name = "web", .uid = "uid-web"};
        request.spec.audiences = std::move(audiences);
        ApiObject body = ApiObject::of(request);
        return pass(*plugin_, AdmissionOperation::Create, request.metadata, ServiceAccount::kind(), &body, nullptr, "token");
    };
    const auto refusal = [](const std::string& audience) {
        return "serviceaccounts \"robot\" is forbidden: audience \"" + audience +
               "\" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience";
    };
    Pod pod = pod_on("n1");
    put(pod);
    EXPECT_EQ(ask({}), refusal(""));
    EXPECT_EQ(ask({"vault"}), refusal("vault"));
    EXPECT_EQ(ask({"vault", "more"}), "serviceaccounts \"robot\" is forbidden: node may only request 0 or 1 audiences");

    api::storage::v1::CSIDriver driver;
    driver.metadata.name = "csi.example.com";
    driver.spec.token_requests = {{.audience = "vault"}};
    put(driver);
    pod.spec.volumes.emplace_back().csi.emplace().driver = "csi.example.com";
    put(pod);
    EXPECT_EQ(ask({"vault"}), "") << "the driver of an inline volume";
    EXPECT_EQ(ask({"other"}), refusal("other"));

    pod.spec.volumes[0] = {};
    pod.spec.volumes[0].persistent_volume_claim.emplace().claim_name = "data";
    put(pod);
    EXPECT_EQ(ask({"vault"}), refusal("vault"));
    PersistentVolume volume = named<PersistentVolume>("", "v");
    volume.spec.csi.emplace().driver = "csi.example.com";
    put(volume);
    PersistentVolumeClaim claim = named<PersistentVolumeClaim>("a", "data");
    claim.spec.volume_name = "v";
    put(claim);
    EXPECT_EQ(ask({"vault"}), "") << "the driver of a claim's volume";
}

}  // namespace
}  // namespace porthole::apiserver
