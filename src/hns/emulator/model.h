#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/ip.h"
#include "hns/documents.h"

namespace porthole::hns::emulator {

/// What the emulator keeps: the documents as they are shown, completed (ids, MACs, addresses, prefix lengths, flags), and beside
/// each the facts that no document shows. Ids everywhere in canonical form (hns/guid.h), MACs too (documents.h).
///
/// `number` is small and unique among the living objects of its family: for names of links, tables and marks.

struct Network {
    hcn::HostComputeNetwork document;
    std::uint32_t number = 0;
    /// The physical adapter whose external switch it shares; "" for NAT, ICS, Private and Internal networks.
    std::string adapter;
    /// Its external switch is up and the host's address has moved to the virtual adapter.
    bool ready = false;
    std::string management_address;  ///< the host's address on that adapter; "" until ready

    bool is_external() const { return !adapter.empty(); }
};

struct Endpoint {
    hcn::HostComputeEndpoint document;
    std::uint32_t number = 0;
    bool on_host = false;                 ///< attached to the host's own compartment (version 1: SystemType Host); has no namespace then
    std::vector<std::string> containers;  ///< version 1's SharedContainers

    bool is_attached() const { return on_host || !document.host_compute_namespace.empty(); }
};

/// `document.namespace_id` is the compartment.
struct Namespace {
    hcn::HostComputeNamespace document;
};

/// Endpoints that are gone may still be named in it: they have no effect.
struct LoadBalancer {
    hcn::HostComputeLoadBalancer document;
    std::uint32_t number = 0;
    std::uint32_t reserved_ports = 0;  ///< of the host's dynamic range, for its SNAT (not with DSR)
    bool rehydrated = false;           ///< came back with the service, unchanged since
};

struct SdnRoute {
    hcn::HostComputeRoute document;
    std::uint32_t number = 0;
};

/// By id. Objects are immutable, and a copy shares the table until one of the two is changed: looking at a model, or changing one
/// family of it, costs nothing for the others, however many objects they have. All copies live on one thread.
template <class T>
class Table {
public:
    using Rows = std::map<std::string, std::shared_ptr<const T>>;

    auto begin() const { return rows_->begin(); }
    auto end() const { return rows_->end(); }
    std::size_t size() const { return rows_->size(); }
    bool empty() const { return rows_->empty(); }
    auto find(const std::string& id) const { return rows_->find(id); }
    bool contains(const std::string& id) const { return rows_->contains(id); }
    const std::shared_ptr<const T>& at(const std::string& id) const { return rows_->at(id); }
    bool operator==(const Table& other) const { return rows_ == other.rows_ || *rows_ == *other.rows_; }

    /// For changing: the rows of this copy alone.
    Rows& edit() {
        if (rows_.use_count() > 1) rows_ = std::make_shared<Rows>(*rows_);
        return *rows_;
    }
    std::shared_ptr<const T>& operator[](const std::string& id) { return edit()[id]; }
    void erase(const std::string& id) { edit().erase(id); }
    void clear() { edit().clear(); }

private:
    std::shared_ptr<Rows> rows_ = std::make_shared<Rows>();  // never null but in what has been moved from
};

struct Model {
    Table<Network> networks;
    Table<Endpoint> endpoints;
    Table<Namespace> namespaces;
    Table<LoadBalancer> load_balancers;
    Table<SdnRoute> routes;
};

/// nullptr where there is none.
template <class T>
const T* find(const Table<T>& table, const std::string& id) {
    const auto found = table.find(id);
    return found == table.end() ? nullptr : found->second.get();
}

/// Ids of objects that one operation created, changed or removed: look them up in the models before and after.
struct Changes {
    std::vector<std::string> networks, endpoints, namespaces, load_balancers, routes;
};

}  // namespace porthole::hns::emulator
