#pragma once
#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/values/ip.h"
#include "hns/documents.h"
#include "hns/emulator/model/key_index.h"

namespace porthole::hns::emulator {

// The emulator's state: the documents as they are returned, completed (ids, MACs, addresses, prefix lengths, flags), each with facts that
// no document contains. Ids and MACs are in canonical form (hns/guid.h, documents.h).
//
// `number` is small and unique among the existing objects of its family: for names of links, tables and marks.

/// A network and the switch that it is on.
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

/// An endpoint, attached or not.
struct Endpoint {
    hcn::HostComputeEndpoint document;
    std::uint32_t number = 0;
    bool on_host = false;                 ///< attached to the host's own compartment (version 1: SystemType Host); then without a namespace
    std::vector<std::string> containers;  ///< version 1's SharedContainers

    bool is_attached() const { return on_host || !document.host_compute_namespace.empty(); }
};

/// `document.namespace_id` is the compartment.
struct Namespace {
    hcn::HostComputeNamespace document;
};

/// It may name endpoints that were removed: they have no effect.
struct LoadBalancer {
    hcn::HostComputeLoadBalancer document;
    std::uint32_t number = 0;
    std::uint32_t reserved_ports = 0;  ///< of the host's dynamic range, for its SNAT (not with DSR)
    bool rehydrated = false;           ///< restored when the service started, unchanged since
};

/// A route that HNS itself maintains.
struct SdnRoute {
    hcn::HostComputeRoute document;
    std::uint32_t number = 0;
};

/// Key of rules' look-ups. Addresses and ids are in canonical form, as in the model.
using ObjectKey = std::uint64_t;
ObjectKey key_of_address(const std::string& network, const std::string& address);  ///< endpoints
ObjectKey key_of_local(const std::string& network);                                ///< endpoints attached to a namespace of this host
ObjectKey key_of_backend(const std::string& endpoint);                             ///< load balancers
/// Endpoints and load balancers that use a port; `address` is "" if they have none.
ObjectKey key_of_port(const std::string& address, std::uint32_t protocol, std::uint32_t port);
/// Some may be there twice.
std::vector<ObjectKey> keys_of(const Endpoint& endpoint);
std::vector<ObjectKey> keys_of(const LoadBalancer& balancer);

/// By id, in their order. Objects are immutable, and copies share all that neither has changed: the rows are in shards by the first two
/// digits of their GUID, and a change copies one shard. So a transaction among thousands of objects costs what it touches. All copies must
/// be used on one thread; iterators are valid until the copy that they are of changes.
template <class T>
class Table {
public:
    using Rows = std::map<std::string, std::shared_ptr<const T>>;
    using value_type = typename Rows::value_type;

    class Iterator {
    public:
        using value_type = typename Rows::value_type;
        using difference_type = std::ptrdiff_t;
        Iterator() = default;
        Iterator(const Table* table, std::size_t shard, typename Rows::const_iterator at) : table_(table), shard_(shard), at_(at) {
            settle();
        }
        const value_type& operator*() const { return *at_; }
        const value_type* operator->() const { return &*at_; }
        Iterator& operator++() {
            ++at_;
            settle();
            return *this;
        }
        Iterator operator++(int) {
            Iterator before = *this;
            ++*this;
            return before;
        }
        bool operator==(const Iterator& other) const { return shard_ == other.shard_ && at_ == other.at_; }

    private:
        /// Past the last row of a shard is the first of the next one that has any.
        void settle() {
            while (shard_ + 1 < Shards && at_ == table_->rows_of(shard_).end()) at_ = table_->rows_of(++shard_).begin();
        }
        const Table* table_ = nullptr;
        std::size_t shard_ = 0;
        typename Rows::const_iterator at_;
    };

    Iterator begin() const { return {this, 0, rows_of(0).begin()}; }
    Iterator end() const { return {this, Shards - 1, rows_of(Shards - 1).end()}; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    Iterator find(const std::string& id) const {
        const std::size_t shard = shard_of(id);
        const auto found = rows_of(shard).find(id);
        return found == rows_of(shard).end() ? end() : Iterator(this, shard, found);
    }
    bool contains(const std::string& id) const { return rows_of(shard_of(id)).contains(id); }
    const std::shared_ptr<const T>& at(const std::string& id) const { return rows_of(shard_of(id)).at(id); }
    /// Whether neither has changed since one was copied from the other.
    bool is_same(const Table& other) const { return shards_ == other.shards_; }
    bool operator==(const Table& other) const { return is_same(other) || std::ranges::equal(*this, other); }

    /// Objects with that key, and perhaps others: see KeyIndex. Unordered.
    std::vector<const T*> with(ObjectKey key) const { return index_.find(key); }
    /// The smallest number above 0 that no object has.
    std::uint32_t free_number() const { return numbers_.smallest_free(); }

    /// Adds or replaces the object of that id.
    void put(const std::string& id, std::shared_ptr<const T> object) {
        std::shared_ptr<const T>& row = edit(shard_of(id))[id];
        size_ += row == nullptr;
        if (row) forget(*row);
        row = std::move(object);
        note(*row);
    }
    void erase(const std::string& id) {
        if (!contains(id)) return;
        Rows& rows = edit(shard_of(id));
        forget(*rows.at(id));
        size_ -= rows.erase(id);
    }
    void clear() { *this = {}; }

private:
    static constexpr std::size_t Shards = 256;
    using ShardArray = std::array<std::shared_ptr<Rows>, Shards>;  // null for an empty one

    static std::size_t shard_of(const std::string& id) {
        const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : 0; };
        return id.size() < 2 ? 0 : static_cast<std::size_t>(digit(id[0]) * 16 + digit(id[1]));
    }
    const Rows& rows_of(std::size_t shard) const {
        static const Rows none;
        return (*shards_)[shard] ? *(*shards_)[shard] : none;
    }
    /// The rows of a shard, for this copy alone.
    Rows& edit(std::size_t shard) {
        if (shards_.use_count() > 1) shards_ = std::make_shared<ShardArray>(*shards_);
        std::shared_ptr<Rows>& rows = (*shards_)[shard];
        if (!rows || rows.use_count() > 1) rows = rows ? std::make_shared<Rows>(*rows) : std::make_shared<Rows>();
        return *rows;
    }

    void note(const T& object) {
        if constexpr (requires { keys_of(object); })
            for (const ObjectKey key : keys_of(object)) index_.add(key, object);
        if constexpr (requires { object.number; }) numbers_.add(object.number);
    }
    void forget(const T& object) {
        if constexpr (requires { keys_of(object); })
            for (const ObjectKey key : keys_of(object)) index_.remove(key, object);
        if constexpr (requires { object.number; }) numbers_.remove(object.number);
    }

    std::shared_ptr<ShardArray> shards_ = std::make_shared<ShardArray>();  // null only after a move
    std::size_t size_ = 0;
    KeyIndex<T> index_;
    NumberSet numbers_;
};

/// Erases the rows for which `condition` is true.
template <class T, class Condition>
void erase_if(Table<T>& table, Condition condition) {
    std::vector<std::string> gone;
    for (const auto& row : table) {
        if (condition(row)) gone.push_back(row.first);
    }
    for (const std::string& id : gone) table.erase(id);
}

/// All objects of the service. Copying is cheap.
struct Model {
    Table<Network> networks;
    Table<Endpoint> endpoints;
    Table<Namespace> namespaces;
    Table<LoadBalancer> load_balancers;
    Table<SdnRoute> routes;
};

/// nullptr if there is none.
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
