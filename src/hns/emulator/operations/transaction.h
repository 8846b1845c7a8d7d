#pragma once
#include <algorithm>
#include <string>
#include <vector>

#include "hns/emulator/data_plane/data_plane.h"
#include "hns/emulator/model/model.h"
#include "hns/emulator/model/profile.h"
#include "hns/hns.h"
#include "hns/hresult.h"
#include "runtime/random.h"

namespace porthole::hns::emulator {

/// Input of one call's rules in addition to the model. Borrows the profile and the generator.
struct Host {
    const Profile& profile;
    Features features;
    std::vector<Adapter> adapters;
    Random& random;
};

/// The work of one call: the new model, and its differences. Has no effect until the emulator commits it. Borrows `host`.
class Transaction {
public:
    Transaction(const Model& before, const Host& host) : host_(host), next_(before) {}

    const Host& host() const { return host_; }
    /// As this transaction has changed it so far.
    const Model& model() const { return next_; }
    const Changes& changes() const { return changes_; }
    const std::vector<Notification>& notifications() const { return notifications_; }
    bool empty() const {
        return changes_.networks.empty() && changes_.endpoints.empty() && changes_.namespaces.empty() && changes_.load_balancers.empty() &&
               changes_.routes.empty();
    }

    /// Creates or replaces the object of `document.id`.
    template <class T>
    void put(T object) {
        const std::string id = object.document.id;
        touch<T>(id);
        table<T>().put(id, std::make_shared<const T>(std::move(object)));
    }
    template <class T>
    void erase(const std::string& id) {
        touch<T>(id);
        table<T>().erase(id);
    }
    /// Makes the data plane process it although it has not changed.
    template <class T>
    void touch(const std::string& id) {
        std::vector<std::string>& ids = changed<T>();
        if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
    }
    template <class T>
    std::uint32_t free_number() {
        return table<T>().free_number();
    }
    /// A notification to send after the commit.
    void notify(std::uint32_t type, const std::string& id, schema::Value data = {});

private:
    template <class T>
    Table<T>& table() {
        if constexpr (std::same_as<T, Network>) return next_.networks;
        if constexpr (std::same_as<T, Endpoint>) return next_.endpoints;
        if constexpr (std::same_as<T, Namespace>) return next_.namespaces;
        if constexpr (std::same_as<T, LoadBalancer>) return next_.load_balancers;
        if constexpr (std::same_as<T, SdnRoute>) return next_.routes;
    }
    template <class T>
    std::vector<std::string>& changed() {
        if constexpr (std::same_as<T, Network>) return changes_.networks;
        if constexpr (std::same_as<T, Endpoint>) return changes_.endpoints;
        if constexpr (std::same_as<T, Namespace>) return changes_.namespaces;
        if constexpr (std::same_as<T, LoadBalancer>) return changes_.load_balancers;
        if constexpr (std::same_as<T, SdnRoute>) return changes_.routes;
    }

    const Host& host_;
    Model next_;
    Changes changes_;
    std::vector<Notification> notifications_;
};

/// The id in a document, or a new one. Error: Hresult::InvalidJson if it is not a GUID.
Result<std::string> id_for(const std::string& asked, Random& random);
/// Sets the members common to all documents: state, schema and version of the service.
template <class D>
void complete_document(D& document, const Profile& profile) {
    document.version = (std::uint64_t{profile.version.major} << 32) | profile.version.minor;
    document.schema_version.major = 2;
    document.schema_version.minor = profile.schema_minor;
}

/// The object, or Hresult::NetworkNotFound, EndpointNotFound, ElementNotFound. Ids in any case.
Result<const Network*> need_network(const Model& model, const std::string& id);
Result<const Endpoint*> need_endpoint(const Model& model, const std::string& id);
Result<const Namespace*> need_namespace(const Model& model, const std::string& id);
Result<const LoadBalancer*> need_load_balancer(const Model& model, const std::string& id);
Result<const SdnRoute*> need_route(const Model& model, const std::string& id);

}  // namespace porthole::hns::emulator
