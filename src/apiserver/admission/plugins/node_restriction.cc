#include <algorithm>
#include <array>
#include <optional>

#include "api/authentication_v1.h"
#include "api/certificates_v1.h"
#include "api/certificates_v1beta1.h"
#include "api/core_v1.h"
#include "apiserver/admission/plugins.h"
#include "apiserver/admission/plugins/pod_references.h"
#include "apiserver/admission/plugins/token_audiences.h"
#include "apiserver/authorization/node_authorizer.h"
#include "apiserver/request/status.h"
#include "base/strings.h"
#include "base/values/ip.h"
#include "objects/local_volume.h"
#include "schema/json/json.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using Labels = std::map<std::string, std::string>;

/// Labels in Kubernetes' own domains that a kubelet may set on its node.
bool is_kubelet_label(std::string_view key) {
    constexpr std::array<std::string_view, 10> Names = {"kubernetes.io/hostname",
                                                        "kubernetes.io/os",
                                                        "kubernetes.io/arch",
                                                        "beta.kubernetes.io/os",
                                                        "beta.kubernetes.io/arch",
                                                        "beta.kubernetes.io/instance-type",
                                                        "topology.kubernetes.io/zone",
                                                        "topology.kubernetes.io/region",
                                                        "failure-domain.beta.kubernetes.io/zone",
                                                        "failure-domain.beta.kubernetes.io/region"};
    if (std::ranges::find(Names, key) != Names.end()) return true;
    const std::string_view domain = key.substr(0, key.find('/'));
    const auto within = [&](std::string_view suffix) {
        return domain == suffix || (domain.ends_with(suffix) && domain[domain.size() - suffix.size() - 1] == '.');
    };
    return within("kubelet.kubernetes.io") || within("node.kubernetes.io");
}

bool is_kubernetes_domain(std::string_view key) {
    const std::size_t slash = key.find('/');
    if (slash == key.npos) return false;
    const std::string_view domain = key.substr(0, slash);
    return domain == "kubernetes.io" || domain.ends_with(".kubernetes.io") || domain == "k8s.io" || domain.ends_with(".k8s.io");
}

/// Keys whose value differs between the two.
std::vector<std::string> changed(const Labels& before, const Labels& after) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : after) {
        const auto old = before.find(key);
        if (old == before.end() || old->second != value) keys.push_back(key);
    }
    for (const auto& [key, value] : before) {
        if (!after.contains(key)) keys.push_back(key);
    }
    return keys;
}

/// Where other nodes send what is for the pods of this one, where the pod network is a VXLAN of Flannel's form. As cni/flannel/lease.h
/// reads it.
struct FarEnd {
    std::string mac;  ///< "" for none
    std::optional<IpAddress> address;
    bool operator==(const FarEnd&) const = default;
};

FarEnd far_end_of(const Node& node) {
    const auto annotation = [&](const char* name) {
        const auto found = node.metadata.annotations.find(std::string("flannel.alpha.coreos.com/") + name);
        return found == node.metadata.annotations.end() ? std::string() : found->second;
    };
    FarEnd end;
    const auto data = schema::parse_json(annotation("backend-data"));
    end.mac = data ? to_lower(data->string_at({"VtepMAC"})) : "";
    std::ranges::replace(end.mac, '-', ':');
    std::vector<std::string> addresses{annotation("public-ip-overwrite"), annotation("public-ip")};
    for (const NodeAddress& address : node.status.addresses)
        if (address.type == "InternalIP") addresses.push_back(address.address);
    for (const std::string& text : addresses)
        if (const auto address = IpAddress::parse(text); !end.address && address && address->is_v4()) end.address = *address;
    return end;
}

class NodeRestriction final : public AdmissionPlugin {
public:
    NodeRestriction(const ObjectReader& reader, Authorizer& authorizer) : reader_(reader), authorizer_(authorizer) {}
    std::string_view name() const override { return "NodeRestriction"; }
    bool handles(const AdmissionAttributes& attributes) const override { return node_of(attributes.user).has_value(); }

    Task<> admit(AdmissionAttributes& attributes) override {
        const auto node = node_of(attributes.user);
        if (!node) co_return {};
        Result<std::string> refusal = std::string();
        if (attributes.is("", "pods")) refusal = pod(*node, attributes);
        if (attributes.is("", "nodes")) refusal = own_node(*node, attributes);
        if (attributes.is("", "nodes") && refusal && refusal->empty()) refusal = own_far_end(*node, attributes);
        if (attributes.is("", "serviceaccounts") && attributes.subresource == "token") refusal = token(*node, attributes);
        if (attributes.is("", "persistentvolumeclaims")) refusal = claim(*node, attributes);
        if (attributes.is("", "persistentvolumes")) refusal = volume(*node, attributes);
        if (attributes.is("certificates.k8s.io", "podcertificaterequests")) refusal = pod_certificate(*node, attributes);
        if (attributes.is("coordination.k8s.io", "leases") || attributes.is("storage.k8s.io", "csinodes")) {
            refusal = attributes.name == *node ? "" : "node \"" + *node + "\" may only access its own objects of this kind";
        }
        if (!refusal) co_return std::move(refusal).error();
        if (refusal->empty() && attributes.is("", "serviceaccounts") && attributes.subresource == "token") {
            refusal = co_await audience(attributes);
            if (!refusal) co_return std::move(refusal).error();
        }
        if (!refusal->empty()) co_return admission_forbidden(attributes, *refusal);
        co_return {};
    }

private:
    using Refusal = Result<std::string>;  ///< why not; "" when it may

    Refusal pod(const std::string& node, const AdmissionAttributes& attributes) const {
        if (attributes.subresource == "eviction") return stored_pod(node, attributes, "evict");
        if (attributes.operation == AdmissionOperation::Delete) return stored_pod(node, attributes, "delete");
        if (attributes.subresource == "status") {
            TRY(const std::string why, stored_pod(node, attributes, "update status for"));
            if (!why.empty()) return why;
            return status_of_pod(node, attributes.old_object->view<Pod>(), attributes.object->view<Pod>());
        }
        if (attributes.operation != AdmissionOperation::Create || !attributes.subresource.empty()) {
            return "unexpected operation of node \"" + node + "\" on pods";
        }
        return new_mirror_pod(node, attributes.object->view<Pod>());
    }

    /// A node may read the claims that a pod's status names.
    static std::string status_of_pod(const std::string& node, const Pod& before, const Pod& now) {
        const std::string refusal = "node \"" + node + "\" cannot update ";
        if (before.metadata.labels != now.metadata.labels) return refusal + "labels through pod status";
        if (before.status.resource_claim_statuses != now.status.resource_claim_statuses) return refusal + "resource claim statues";
        if (before.status.extended_resource_claim_status != now.status.extended_resource_claim_status)
            return refusal + "extended resource claim status";
        return "";
    }

    Refusal stored_pod(const std::string& node, const AdmissionAttributes& attributes, const char* what) const {
        std::string assigned;
        if (attributes.old_object && attributes.old_object->is<Pod>()) {
            assigned = attributes.old_object->view<Pod>().spec.node_name;
        } else {
            TRY(const auto found, reader_.find<Pod>(attributes.namespace_, attributes.name));
            if (!found) return std::string();  // the verb itself will say NotFound
            assigned = found->spec.node_name;
        }
        if (assigned == node) return std::string();
        return "node \"" + node + "\" can only " + what + " pods with spec.nodeName set to itself";
    }

    Refusal new_mirror_pod(const std::string& node, const Pod& pod) const {
        const std::string can_only = "node \"" + node + "\" can only create pods ";
        if (!pod.metadata.annotations.contains(MirrorPodAnnotation))
            return "pod does not have \"" + std::string(MirrorPodAnnotation) + "\" annotation, " + can_only + "that are mirror pods";
        if (pod.spec.node_name != node) return can_only + "with spec.nodeName set to itself";
        const auto& owners = pod.metadata.owner_references;
        if (owners.size() > 1) return can_only + "with a single owner reference set to itself";
        if (owners.empty()) return can_only + "with an owner reference set to itself";
        const auto& owner = owners.front();
        if (owner.api_version != "v1" || owner.kind != "Node" || owner.name != node)
            return can_only + "with an owner reference set to itself";
        if (!owner.controller.value_or(false)) return can_only + "with a controller owner reference set to itself";
        if (owner.block_owner_deletion.value_or(false))
            return "node \"" + node + "\" must not set blockOwnerDeletion on an owner reference";
        TRY(const auto stored, reader_.find<Node>("", node));
        if (!stored) return not_found(Node::kind(), node);
        if (owner.uid != stored->metadata.uid)
            return "node " + node + " UID mismatch: expected " + owner.uid + " got " + stored->metadata.uid;
        const std::string reference = api_reference_of(pod);
        return reference.empty() ? reference : "node \"" + node + "\" can not create pods that reference " + reference;
    }

    static Refusal own_node(const std::string& node, const AdmissionAttributes& attributes) {
        if (attributes.name != node) return "node \"" + node + "\" is not allowed to modify node \"" + attributes.name + "\"";
        if (!attributes.object || !attributes.object->is<Node>()) return std::string();
        const Node& after = attributes.object->view<Node>();
        const Node before = attributes.old_object ? attributes.old_object->view<Node>() : Node();
        for (const std::string& key : changed(before.metadata.labels, after.metadata.labels)) {
            const bool reserved = key.substr(0, key.find('/')).ends_with("node-restriction.kubernetes.io");
            if (reserved || (is_kubernetes_domain(key) && !is_kubelet_label(key))) {
                return "is not allowed to modify labels: " + key;
            }
        }
        // Differs from Kubernetes: other nodes route to these addresses, which the cluster gives out.
        if (before.spec.pod_cidr != after.spec.pod_cidr || before.spec.pod_cidrs != after.spec.pod_cidrs)
            return "node \"" + node + "\" is not allowed to set podCIDR or podCIDRs";
        if (!attributes.old_object) return std::string();
        if (before.spec.taints != after.spec.taints) return "node \"" + node + "\" is not allowed to modify taints";
        if (before.metadata.owner_references != after.metadata.owner_references)
            return "node \"" + node + "\" is not allowed to update ownerReferences";
        return std::string();
    }

    /// Differs from Kubernetes: other nodes send what is for a MAC to the address of the last one that names it. A machine that joins
    /// again under another name has both of its former one.
    Refusal own_far_end(const std::string& node, const AdmissionAttributes& attributes) const {
        if (!attributes.object || !attributes.object->is<Node>()) return std::string();
        const FarEnd end = far_end_of(attributes.object->view<Node>());
        if (end.mac.empty() || (attributes.old_object && far_end_of(attributes.old_object->view<Node>()) == end)) return std::string();
        TRY(const auto nodes, reader_.list<Node>(""));
        for (const auto& other : nodes) {
            const FarEnd known = far_end_of(*other);
            if (other->metadata.name != node && known.mac == end.mac && known.address != end.address)
                return "node \"" + node + "\" is not allowed to name the VXLAN address of node \"" + other->metadata.name + "\"";
        }
        return std::string();
    }

    /// A node tells how far the growth of a volume has come, and nothing else.
    static Refusal claim(const std::string& node, const AdmissionAttributes& attributes) {
        if (attributes.operation != AdmissionOperation::Update || attributes.subresource != "status")
            return "unexpected operation of node \"" + node + "\" on persistentvolumeclaims";
        schema::Value before = attributes.old_object->tree(), after = attributes.object->tree();
        for (schema::Value* tree : {&before, &after}) {
            for (const char* field : {"managedFields", "resourceVersion"})
                if (schema::Value* metadata = tree->find("metadata")) metadata->erase(field);
            schema::Value* status = tree->find("status");
            if (!status) continue;
            for (const char* field : {"capacity", "conditions", "allocatedResources", "allocatedResourceStatuses",
                                      "currentVolumeAttributesClassName", "modifyVolumeStatus"})
                status->erase(field);
            if (status->is_object() && status->as_object().empty()) tree->erase("status");
        }
        return before == after ? ""
                               : "node \"" + node + "\" is not allowed to update fields other than status.capacity and status.conditions";
    }

    /// A node takes its finalizer off a volume that is on it and is being deleted, and changes nothing else.
    static Refusal volume(const std::string& node, const AdmissionAttributes& attributes) {
        if (attributes.operation != AdmissionOperation::Update || !attributes.subresource.empty())
            return "unexpected operation of node \"" + node + "\" on persistentvolumes";
        PersistentVolume before = attributes.old_object->view<PersistentVolume>(), after = attributes.object->view<PersistentVolume>();
        if (objects::local_volume::node_of(before) != node) return "node \"" + node + "\" can only update volumes on itself";
        std::erase(before.metadata.finalizers, objects::local_volume::Finalizer);
        for (PersistentVolume* one : {&before, &after}) {
            one->metadata.managed_fields = {};
            one->metadata.resource_version = {};
        }
        if (before.metadata.deletion_timestamp && before == after) return std::string();
        return "node \"" + node + "\" is not allowed to update fields other than its finalizer of a volume that is being deleted";
    }

    /// A node asks for certificates of the pods that run on it, as who they are. What may be right in a moment is no refusal but an error.
    Refusal pod_certificate(const std::string& node, const AdmissionAttributes& attributes) const {
        if (attributes.operation != AdmissionOperation::Create || !attributes.subresource.empty())
            return "unexpected operation of node \"" + node + "\" on podcertificaterequests";
        const auto& spec = attributes.object->view<api::certificates::v1beta1::PodCertificateRequest>().spec;
        const auto in_namespace = [&](const std::string& name) { return quote(attributes.namespace_ + "/" + name); };
        const std::string of_pod = "PodCertificateRequest for pod " + in_namespace(spec.pod_name);
        const auto wrong = [](std::string why) { return Error(Reason::InternalError, std::move(why)); };
        if (spec.node_name != node)
            return "PodCertificateRequest.Spec.NodeName=" + quote(spec.node_name) + ", which is not the requesting node " + quote(node);
        TRY(const auto itself, reader_.find<Node>("", node));
        if (!itself) return not_found(Node::kind(), node);
        if (itself->metadata.uid != spec.node_uid)
            return wrong(of_pod + " names node UID " + quote(spec.node_uid) + ", inconsistent with the running node (" +
                         quote(itself->metadata.uid) + ")");
        TRY(const auto pod, reader_.find<Pod>(attributes.namespace_, spec.pod_name));
        if (!pod) return not_found(Pod::kind(), spec.pod_name);
        if (pod->metadata.uid != spec.pod_uid)
            return wrong(of_pod + " contains pod UID (" + quote(spec.pod_uid) + ") which differs from running pod " +
                         quote(pod->metadata.uid));
        if (pod->spec.node_name != node)
            return "pod " + in_namespace(spec.pod_name) + " is not running on node " + quote(node) + " named in the PodCertificateRequest";
        if (pod->metadata.annotations.contains(MirrorPodAnnotation)) return "pod " + in_namespace(spec.pod_name) + " is a mirror pod";
        if (pod->spec.service_account_name != spec.service_account_name)
            return of_pod + " contains serviceAccountName (" + quote(spec.service_account_name) + ") that differs from running pod (" +
                   quote(pod->spec.service_account_name) + ")";
        TRY(const auto account, reader_.find<ServiceAccount>(attributes.namespace_, spec.service_account_name));
        if (!account) return not_found(ServiceAccount::kind(), spec.service_account_name);
        if (account->metadata.uid != spec.service_account_uid)
            return wrong(of_pod + " names service account UID " + quote(spec.service_account_uid) +
                         ", which differs from the running service account (" + quote(account->metadata.uid) + ")");
        return std::string();
    }

    Refusal token(const std::string& node, const AdmissionAttributes& attributes) const {
        using api::authentication::v1::TokenRequest;
        const auto& bound = attributes.object->view<TokenRequest>().spec.bound_object_ref;
        if (!bound || bound->api_version != "v1" || bound->kind != "Pod" || bound->name.empty()) {
            return "node requested token not bound to a pod";
        }
        if (bound->uid.empty()) return "node requested token with a pod binding without a uid";
        TRY(const auto pod, reader_.find<Pod>(attributes.namespace_, bound->name));
        if (!pod || pod->metadata.uid != bound->uid)
            return "the UID in the bound object reference (" + bound->uid + ") does not match the UID in record";
        return pod->spec.node_name == node ? std::string() : "node requested token bound to a pod scheduled on a different node";
    }

    /// A node gets tokens that its pod needs, and those that a role gives it. Requires: token() has found the pod.
    Task<std::string> audience(const AdmissionAttributes& attributes) const {
        using api::authentication::v1::TokenRequest;
        const auto& spec = attributes.object->view<TokenRequest>().spec;
        if (spec.audiences.size() > 1) co_return "node may only request 0 or 1 audiences";
        const std::string wanted = spec.audiences.empty() ? "" : spec.audiences[0];
        CO_TRY(const auto pod, reader_.find<Pod>(attributes.namespace_, spec.bound_object_ref->name));
        if (!pod) co_return std::string();
        CO_TRY(const bool needed, needs_token_for(reader_, *pod, wanted));
        if (needed) co_return std::string();
        CO_TRY(const Decision decision, co_await authorizer_.authorize({.user = attributes.user,
                                                                        .verb = "request-serviceaccounts-token-audience",
                                                                        .is_resource = true,
                                                                        .version = "v1",
                                                                        .resource = wanted,
                                                                        .namespace_ = attributes.namespace_,
                                                                        .name = attributes.name}));
        if (decision.allowed()) co_return std::string();
        co_return "audience \"" + wanted + "\" not found in pod spec volume, " + attributes.user.name +
            " is not authorized to request tokens for this audience";
    }

    const ObjectReader& reader_;
    Authorizer& authorizer_;
};

}  // namespace

AdmissionPluginPtr make_node_restriction(const AdmissionDependencies& given) {
    return std::make_unique<NodeRestriction>(given.reader, given.authorizer);
}

}  // namespace porthole::apiserver
