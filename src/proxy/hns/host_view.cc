#include "proxy/hns/host_view.h"

#include <algorithm>

#include "hns/guid.h"
#include "hns/hresult.h"
#include "schema/json/json.h"

namespace porthole::proxy::hns {

using porthole::hns::canonical_guid;
using porthole::hns::is_object_missing;
using porthole::hns::ObjectKind;

namespace {

/// Those whose documents are to be read: new ones, and `count` known ones in turn, beginning at `next`.
template <class T>
std::vector<std::string> to_read(const std::vector<std::string>& ids, const std::map<std::string, T>& known, std::size_t count,
                                 std::string& next) {
    std::vector<std::string> chosen;
    for (const std::string& id : ids) {
        if (!known.contains(id)) chosen.push_back(id);
    }
    auto at = known.lower_bound(next);
    for (std::size_t i = 0; i < std::min(count, known.size()); ++i, ++at) {
        if (at == known.end()) at = known.begin();
        chosen.push_back(at->first);
    }
    next = at == known.end() ? "" : at->first;
    return chosen;
}

}  // namespace

Task<std::vector<std::string>> HostView::ids(ObjectKind kind, std::string query) {
    CO_TRY(const std::string json, co_await client_.raw().enumerate(kind, std::move(query)));
    CO_TRY(const schema::Value list, schema::parse_json(json));
    std::vector<std::string> result;
    if (list.is_array()) {
        for (const schema::Value& id : list.as_array()) result.push_back(canonical_guid(id.string_or("")));
    }
    co_return result;
}

Task<bool> HostView::read_network(std::string name) {
    CO_TRY(std::optional<hcn::HostComputeNetwork> found, co_await client_.find<hcn::HostComputeNetwork>(name));
    if (!found) {
        forget();
        co_return Error(Reason::NotFound, "Unable to find HNS Network specified by " + name);
    }
    const bool another = !porthole::hns::same_guid(found->id, network_.id);
    if (another) forget();
    network_ = *std::move(found);
    co_return another;
}

Task<> HostView::read_endpoints(std::size_t documents) {
    if (network_.id.empty()) co_return {};
    hcn::HostComputeQuery query;
    query.schema_version = porthole::hns::schema_version();
    query.filter = schema::to_json(schema::Value::object({{"VirtualNetwork", network_.id}}));
    CO_TRY(const std::vector<std::string> listed, co_await ids(ObjectKind::Endpoint, porthole::hns::write_document(query)));
    const std::set<std::string> present(listed.begin(), listed.end());
    for (auto it = endpoints_.begin(); it != endpoints_.end();) {
        const std::string id = (it++)->first;
        if (!present.contains(id)) forget_endpoint(id);
    }
    for (const std::string& id : to_read(listed, endpoints_, documents, next_endpoint_)) {
        auto endpoint = co_await client_.get<hcn::HostComputeEndpoint>(id);
        if (endpoint) {
            note(*std::move(endpoint));
        } else if (is_object_missing(endpoint.error())) {
            forget_endpoint(id);
        } else {
            co_return endpoint.error();
        }
    }
    co_return {};
}

Task<std::set<std::string>> HostView::read_load_balancers(std::size_t documents) {
    CO_TRY(const std::vector<std::string> listed, co_await ids(ObjectKind::LoadBalancer, ""));
    const std::set<std::string> present(listed.begin(), listed.end());
    std::set<std::string> changed;
    std::erase_if(balancers_, [&](const auto& entry) {
        if (present.contains(entry.first)) return false;
        changed.insert(entry.first);
        return true;
    });
    for (const std::string& id : to_read(listed, balancers_, documents, next_balancer_)) {
        auto balancer = co_await client_.get<hcn::HostComputeLoadBalancer>(id);
        if (!balancer && !is_object_missing(balancer.error())) co_return balancer.error();
        const auto known = balancers_.find(id);
        if (!balancer) {
            if (known != balancers_.end()) balancers_.erase(known);
            changed.insert(id);
            continue;
        }
        if (known == balancers_.end() || porthole::hns::write_document(known->second) != porthole::hns::write_document(*balancer)) {
            changed.insert(id);
        }
        note(*std::move(balancer));
    }
    co_return changed;
}

void HostView::forget() {
    network_ = {};
    endpoints_.clear();
    by_address_.clear();
    balancers_.clear();
}

const hcn::HostComputeEndpoint* HostView::find_endpoint(const std::string& id) const {
    const auto found = endpoints_.find(id);
    return found == endpoints_.end() ? nullptr : &found->second;
}

const hcn::HostComputeLoadBalancer* HostView::find_load_balancer(const std::string& id) const {
    const auto found = balancers_.find(id);
    return found == balancers_.end() ? nullptr : &found->second;
}

const hcn::HostComputeEndpoint* HostView::endpoint_at(const IpAddress& address, bool local_only) const {
    const hcn::HostComputeEndpoint* remote = nullptr;
    const auto [first, last] = by_address_.equal_range(address);
    for (auto at = first; at != last; ++at) {
        const hcn::HostComputeEndpoint& endpoint = endpoints_.at(at->second);
        if (!porthole::hns::is_remote(endpoint)) return &endpoint;
        remote = &endpoint;
    }
    return local_only ? nullptr : remote;
}

const hcn::HostComputeLoadBalancer* HostView::foreign_holder(const FrontendKey& frontend) const {
    for (const auto& [id, balancer] : balancers_) {
        if (!is_own(balancer) && frontend_of(balancer) == frontend) return &balancer;
    }
    return nullptr;
}

void HostView::note(hcn::HostComputeEndpoint endpoint) {
    const std::string id = canonical_guid(endpoint.id);
    forget_endpoint(id);
    for (const IpAddress& address : addresses_of(endpoint)) by_address_.emplace(address, id);
    endpoints_.insert_or_assign(id, std::move(endpoint));
}

void HostView::note(hcn::HostComputeLoadBalancer balancer) {
    std::string id = canonical_guid(balancer.id);
    balancers_.insert_or_assign(std::move(id), std::move(balancer));
}

void HostView::forget_endpoint(const std::string& id) {
    const auto known = endpoints_.find(id);
    if (known == endpoints_.end()) return;
    for (const IpAddress& address : addresses_of(known->second)) {
        const auto [first, last] = by_address_.equal_range(address);
        const auto entry = std::ranges::find(first, last, id, &std::pair<const IpAddress, std::string>::second);
        if (entry != last) by_address_.erase(entry);
    }
    endpoints_.erase(known);
}

}  // namespace porthole::proxy::hns
