#include "apiserver/authorization/node_authorizer.h"

#include <algorithm>

#include "api/certificates_v1beta1.h"
#include "api/core_v1.h"
#include "api/storage_v1.h"
#include "apiserver/validation/field_selector.h"
#include "apiserver/validation/label_selector.h"
#include "objects/local_volume.h"

namespace porthole::apiserver {
namespace {

using namespace api::core::v1;
using api::storage::v1::VolumeAttachment;
using Attributes = AuthorizationAttributes;

bool is(const Attributes& attributes, std::string_view group, std::string_view resource) {
    return attributes.group == group && attributes.resource == resource;
}

/// Only these verbs look at a selector; with others it is decoration.
bool selects(const Attributes& attributes) {
    return attributes.verb == "list" || attributes.verb == "watch" || attributes.verb == "deletecollection";
}

/// Whether a list or watch is narrowed to objects with `field` = `value`.
bool selects_only(const Attributes& attributes, std::string_view field, std::string_view value) {
    return selects(attributes) && required_value(attributes.field_selector, field) == value;
}

bool selects_local_volumes(const Attributes& attributes, const std::string& node) {
    const auto selector = LabelSelector::parse(attributes.label_selector);
    return selector && std::ranges::any_of(selector->requirements(), [&](const LabelSelector::Requirement& one) {
               return one.key == objects::local_volume::NodeLabel && one.operation == objects::Operator::In &&
                      one.values == std::vector{node};
           });
}

/// A list or watch may be narrowed to one object by its field selector.
std::string name_of(const Attributes& attributes) {
    if (!attributes.name.empty() || !selects(attributes)) return attributes.name;
    return required_value(attributes.field_selector, "metadata.name").value_or("");
}

Decision no_relationship(const std::string& node) {
    return Decision::no_opinion("no relationship found between node '" + node + "' and this object");
}

}  // namespace

std::optional<std::string> node_of(const User& user) {
    constexpr std::string_view Prefix = "system:node:";
    if (!user.name.starts_with(Prefix) || !user.in_group("system:nodes")) return std::nullopt;
    return user.name.substr(Prefix.size());
}

Task<Decision> NodeAuthorizer::authorize(const Attributes& attributes) {
    const auto node = node_of(attributes.user);
    co_return node&& attributes.is_resource ? decide(*node, attributes) : Decision::no_opinion();
}

Decision NodeAuthorizer::decide(const std::string& node, const Attributes& attributes) const {
    if (is(attributes, "", "secrets") || is(attributes, "", "configmaps")) return read_reached(node, attributes);
    if (is(attributes, "", "persistentvolumeclaims")) return use_claim(node, attributes);
    if (is(attributes, "", "persistentvolumes")) return use_volume(node, attributes);
    if (is(attributes, "storage.k8s.io", "volumeattachments")) return get_if(holds_attachment(node, attributes.name), node, attributes);
    if (is(attributes, "resource.k8s.io", "resourceclaims"))
        return get_if(graph_.reaches(node, "resourceclaims", attributes.namespace_, attributes.name), node, attributes);
    if (is(attributes, "resource.k8s.io", "resourceslices") && selects(attributes))
        return selects_only(attributes, "spec.nodeName", node)
                   ? by_role(attributes)
                   : Decision::no_opinion("can only list, watch and delete resource slices with spec.nodeName field selector");
    if (is(attributes, "certificates.k8s.io", "podcertificaterequests")) return use_pod_certificates(node, attributes);
    if (is(attributes, "", "serviceaccounts")) {
        const bool token = attributes.subresource == "token" && attributes.verb == "create";
        if (!token && attributes.verb != "get") return Decision::no_opinion();
        return graph_.reaches(node, "serviceaccounts", attributes.namespace_, attributes.name) ? Decision::allow() : no_relationship(node);
    }
    if (is(attributes, "coordination.k8s.io", "leases")) {
        if (attributes.namespace_ != "kube-node-lease")
            return Decision::no_opinion("node '" + node + "' may use leases in kube-node-lease only");
        if (attributes.verb != "create" && name_of(attributes) != node)
            return Decision::no_opinion("node '" + node + "' may use its own lease only");
        return by_role(attributes);
    }
    if (is(attributes, "storage.k8s.io", "csinodes")) {
        return attributes.verb == "create" || name_of(attributes) == node ? by_role(attributes) : no_relationship(node);
    }
    if (is(attributes, "", "nodes") && attributes.read_only()) {
        return name_of(attributes) == node ? Decision::allow() : by_role(attributes);
    }
    if (is(attributes, "", "pods")) return use_pods(node, attributes);
    return by_role(attributes);
}

Decision NodeAuthorizer::read_reached(const std::string& node, const Attributes& attributes) const {
    if (!attributes.read_only() || !attributes.subresource.empty()) return Decision::no_opinion("can only read resources of this type");
    const std::string name = name_of(attributes);
    if (name.empty()) return Decision::no_opinion("can only read namespaced object of this type by name");
    const bool reached = graph_.reaches(node, attributes.resource, attributes.namespace_, name) ||
                         (attributes.resource == "secrets" && graph_.reaches_volume_secret(node, attributes.namespace_, name));
    return reached ? Decision::allow() : no_relationship(node);
}

Decision NodeAuthorizer::use_claim(const std::string& node, const Attributes& attributes) const {
    if (attributes.subresource != "status") return read_reached(node, attributes);
    const bool own = graph_.reaches(node, attributes.resource, attributes.namespace_, attributes.name);
    return own ? by_role(attributes) : no_relationship(node);
}

Decision NodeAuthorizer::get_if(bool own, const std::string& node, const Attributes& attributes) const {
    if (attributes.verb != "get" || !attributes.subresource.empty())
        return Decision::no_opinion("can only get individual resources of this type");
    return own ? by_role(attributes) : no_relationship(node);
}

/// Volumes whose data are on the node, which it follows until the data are deleted; of others those that its pods use.
Decision NodeAuthorizer::use_volume(const std::string& node, const Attributes& attributes) const {
    if (selects(attributes) && attributes.name.empty())
        return selects_local_volumes(attributes, node) ? by_role(attributes)
                                                       : Decision::no_opinion("can only list and watch volumes of the node");
    const bool local = attributes.subresource.empty() && has_data(node, attributes.name);
    if (local && (attributes.verb == "get" || attributes.verb == "update"))
        return by_role(attributes);  // NodeRestriction looks at the change
    return get_if(holds_volume(node, attributes.name), node, attributes);
}

bool NodeAuthorizer::has_data(const std::string& node, const std::string& volume) const {
    const auto found = reader_.find<PersistentVolume>("", volume);
    return found && *found && objects::local_volume::node_of(**found) == node;
}

/// A volume is a node's business once the claim that it is bound to is.
bool NodeAuthorizer::holds_volume(const std::string& node, const std::string& name) const {
    const auto volume = reader_.find<PersistentVolume>("", name);
    if (!volume || !*volume || !(*volume)->spec.claim_ref) return false;
    const ObjectReference& claim = *(*volume)->spec.claim_ref;
    return graph_.reaches(node, "persistentvolumeclaims", claim.namespace_, claim.name);
}

bool NodeAuthorizer::holds_attachment(const std::string& node, const std::string& name) const {
    const auto attachment = reader_.find<VolumeAttachment>("", name);
    return attachment && *attachment && (*attachment)->spec.node_name == node;
}

/// Those of its pods. NodeRestriction looks at what it asks for.
Decision NodeAuthorizer::use_pod_certificates(const std::string& node, const Attributes& attributes) const {
    if (!attributes.subresource.empty())
        return Decision::no_opinion("nodes may not access the status subresource of PodCertificateRequests");
    if (selects(attributes))
        return selects_only(attributes, "spec.nodeName", node)
                   ? by_role(attributes)
                   : Decision::no_opinion("can only list/watch podcertificaterequests with nodeName field selector");
    if (attributes.verb == "create") return by_role(attributes);
    const auto request = reader_.find<api::certificates::v1beta1::PodCertificateRequest>(attributes.namespace_, attributes.name);
    return get_if(request && *request && (*request)->spec.node_name == node, node, attributes);
}

Decision NodeAuthorizer::use_pods(const std::string& node, const Attributes& attributes) const {
    if (!attributes.read_only()) return by_role(attributes);  // NodeRestriction looks at the object
    if (selects_only(attributes, "spec.nodeName", node)) return by_role(attributes);
    const bool own = !attributes.name.empty() && graph_.holds_pod(node, attributes.namespace_ + "/" + attributes.name);
    return own ? by_role(attributes) : no_relationship(node);
}

Decision NodeAuthorizer::by_role(const Attributes& attributes) const {
    const auto rules = rbac_.rules_of({.api_group = "rbac.authorization.k8s.io", .kind = "ClusterRole", .name = "system:node"}, "");
    const bool allowed = std::ranges::any_of(rules, [&](const auto& rule) { return rule_allows(rule, attributes); });
    return allowed ? Decision::allow() : Decision::no_opinion();
}

}  // namespace porthole::apiserver
