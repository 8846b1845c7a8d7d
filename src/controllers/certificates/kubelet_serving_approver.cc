#include "controllers/certificates/kubelet_serving_approver.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "base/values/ip.h"
#include "controllers/certificates/requests.h"

namespace porthole::controllers {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view NodePrefix = "system:node:";
constexpr Duration Patience = 1min;  ///< for addresses that the node is about to write
constexpr Duration Interval = 500ms;

std::unordered_set<std::string_view> addresses_of(const api::core::v1::Node& node) {
    std::unordered_set<std::string_view> addresses;
    for (const auto& one : node.status.addresses) addresses.insert(one.address);
    return addresses;
}

/// An address in the form in which nodes write theirs.
std::string canonical(const std::string& address) {
    const auto parsed = IpAddress::parse(address);
    return parsed ? parsed->to_string() : address;
}

std::vector<std::string> names_and_addresses(const net::CertificateSubject& subject) {
    std::vector<std::string> all = subject.dns_names;
    for (const std::string& address : subject.ip_addresses) all.push_back(canonical(address));
    return all;
}

}  // namespace

KubeletServingApprover::KubeletServingApprover(Context& context)
    : Controller(context.loop, context.log, {.name = "kubelet-serving-approver"}),
      client_(context.client),
      requests_(context.informers.get<Request>()),
      nodes_(context.informers.get<Node>()) {
    reconcile_each(requests_);
    depends_on(nodes_);
}

std::string KubeletServingApprover::refuse(const Request& request, const net::CertificateSubject& subject) const {
    if (std::string why = refuse_kubelet_serving(request, subject); !why.empty()) return why;
    const auto& groups = request.spec.groups;
    if (request.spec.username != subject.common_name || std::ranges::find(groups, "system:nodes") == groups.end())
        return "only a node may ask for its own certificate";
    const auto node = nodes_.find({"", subject.common_name.substr(NodePrefix.size())});
    if (!node) return "there is no such node";
    const std::vector<std::string> wanted = names_and_addresses(subject);
    const auto own = addresses_of(*node);
    for (const std::string& name : wanted)
        if (!own.contains(name)) return name + " is not an address of the node";
    const std::unordered_set<std::string_view> names(wanted.begin(), wanted.end());
    for (const auto& other : nodes_.list()) {
        if (other->metadata.name == node->metadata.name) continue;
        for (const std::string_view address : addresses_of(*other))
            if (names.contains(address)) return std::string(address) + " is also an address of node " + other->metadata.name;
        if (names.contains(other->metadata.name)) return other->metadata.name + " is also an address of node " + other->metadata.name;
    }
    return "";
}

Task<client::Requeue> KubeletServingApprover::reconcile(client::NamespacedName key) {
    const auto request = requests_.find(key);
    if (!request || !is_open(*request) || request->spec.signer_name != KubeletServingSigner) co_return client::Requeue::never();
    const auto parsed = net::parse_certificate_request(request->spec.request);
    if (!parsed) co_return client::Requeue::never();
    if (const std::string why = refuse(*request, parsed->subject); !why.empty()) {
        if (loop().wall_now() - request->metadata.creation_timestamp.to_system_time() < Patience) co_return client::Requeue::in(Interval);
        log().info("serving certificate not approved", {{"request", key.name}, {"user", request->spec.username}, {"why", why}});
        co_return client::Requeue::never();
    }
    Request approved = *request;
    approved.status.conditions.push_back(
        approval("AutoApproved", "The node asked for a serving certificate of its own names and addresses.", Timestamp(loop().wall_now())));
    CO_TRY_VOID(co_await client_.put_raw(client::Client::path(Request::kind(), key, "approval"), schema::encode_json(approved)));
    co_return client::Requeue::never();
}

Result<ControllerPtr> make_kubelet_serving_approver(Context& context) { return make_controller<KubeletServingApprover>(context); }

}  // namespace porthole::controllers
